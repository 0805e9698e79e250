//===- Session.cpp - MPI in this process ------------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Session.h"

#include "Watchdog.h"

#include <mpi.h>

#include <cstdlib>
#include <mutex>

using namespace commsched::runtime;
using namespace commsched::runtime::mpi;

namespace {

struct State {
  std::mutex mutex;
  /// Whether MPI_Init is ours, so that MPI_Finalize is, too.
  bool isOurs = false;
  bool isOpen = false;
  bool hasFailed = false;
  bool hasExitHandler = false;
  int64_t deadlineMs = 0;
  std::function<void()> onExit;
};

} // namespace

/// Never destroyed: the exit handler uses it.
static State &getState() {
  static State *state = new State;
  return *state;
}

static void handleExit() {
  State &state = getState();
  std::lock_guard<std::mutex> lock(state.mutex);
  if (state.isOpen) {
    // Some thread still is a rank: the others must not wait for it.
    state.onExit();
    return;
  }
  int isFinalized = 0;
  MPI_Finalized(&isFinalized);
  if (!state.isOurs || state.hasFailed || isFinalized)
    return;
  Watchdog watchdog("MPI_Finalize",
                    Clock::now() + std::chrono::milliseconds(state.deadlineMs));
  MPI_Finalize();
}

Error mpi::checkMpi(int code, const char *call) {
  if (code == MPI_SUCCESS)
    return {};
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return std::string(call) + " failed: " + std::string(text, length);
}

Error mpi::beginSession(Deadline deadline, std::function<void()> onExit) {
  State &state = getState();
  std::lock_guard<std::mutex> lock(state.mutex);
  if (state.isOpen)
    return "this process is a rank of 'mpi' already";
  if (state.hasFailed)
    return "'mpi' cannot be used again in a process in which it has failed";
  int isInitialized = 0;
  int isFinalized = 0;
  MPI_Initialized(&isInitialized);
  MPI_Finalized(&isFinalized);
  if (isFinalized)
    return "MPI has been finalized in this process";
  if (!isInitialized) {
    Watchdog watchdog("MPI_Init", deadline);
    int provided = 0;
    if (Error error = checkMpi(
            MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided),
            "MPI_Init_thread"))
      return error;
    state.isOurs = true;
  }
  if (!state.hasExitHandler)
    std::atexit(handleExit);
  state.hasExitHandler = true;
  state.isOpen = true;
  state.onExit = std::move(onExit);
  return {};
}

void mpi::endSession(bool failed, int64_t deadlineMs) {
  State &state = getState();
  std::lock_guard<std::mutex> lock(state.mutex);
  state.isOpen = false;
  state.onExit = nullptr;
  state.hasFailed |= failed;
  state.deadlineMs = deadlineMs;
}
