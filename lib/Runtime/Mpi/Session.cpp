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
  bool hasExitHandler = false;
  /// Whether some thread is a rank.
  bool isOpen = false;
  bool hasFailed = false;
  int64_t deadlineMs = 0;
  Board board;
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
  // The others must not wait for this one.
  if (state.isOpen)
    state.board.fail("its process has ended without leaving");
  int isFinalized = 0;
  MPI_Finalized(&isFinalized);
  if (!state.isOurs || state.isOpen || state.hasFailed || isFinalized)
    return;
  Watchdog watchdog("MPI_Finalize",
                    Clock::now() + std::chrono::milliseconds(state.deadlineMs));
  state.board.close();
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

static Error initialize(State &state, Deadline deadline) {
  int isInitialized = 0;
  int isFinalized = 0;
  MPI_Initialized(&isInitialized);
  MPI_Finalized(&isFinalized);
  if (isFinalized)
    return "MPI has been finalized in this process";
  if (isInitialized)
    return {};
  Watchdog watchdog("MPI_Init", deadline);
  int provided = 0;
  if (Error error = checkMpi(
          MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided),
          "MPI_Init_thread"))
    return error;
  state.isOurs = true;
  return {};
}

Error mpi::beginSession(Deadline deadline) {
  State &state = getState();
  std::lock_guard<std::mutex> lock(state.mutex);
  if (state.isOpen)
    return "this process is a rank of 'mpi' already";
  if (Error error = initialize(state, deadline))
    return error;
  {
    Watchdog watchdog("the making of communicators", deadline);
    if (Error error = state.board.open())
      return error;
  }
  if (!state.hasExitHandler)
    std::atexit(handleExit);
  state.hasExitHandler = true;
  state.isOpen = true;
  return {};
}

void mpi::endSession(bool failed, int64_t deadlineMs) {
  State &state = getState();
  std::lock_guard<std::mutex> lock(state.mutex);
  state.isOpen = false;
  state.hasFailed = failed;
  state.deadlineMs = deadlineMs;
}

Board &mpi::getBoard() { return getState().board; }
