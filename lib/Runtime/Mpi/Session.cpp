//===- Session.cpp - MPI in this process ------------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Session.h"

#include "Arrival.h"
#include "Watchdog.h"

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>

using namespace commsched::runtime;
using namespace commsched::runtime::mpi;

namespace {

struct State {
  /// Recursive, since MPI may end the process itself.
  std::recursive_mutex mutex;
  /// Whether MPI_Init is ours, so that MPI_Finalize is, too.
  bool isOurs = false;
  bool hasExitHandler = false;
  /// Whether some thread is a rank.
  bool isOpen = false;
  bool hasFailed = false;
  int64_t deadlineMs = 0;
  /// Of the last session: stays until nobody looks for it any more.
  std::unique_ptr<Arrival> arrival;
  Board board;
};

} // namespace

/// Never destroyed: the exit handler uses it.
static State &getState() {
  static State *state = new State;
  return *state;
}

/// A launcher kills the other processes when one has ended badly. So that all
/// can say what they have seen, they go together.
static void awaitReports(Board &board) {
  // Of what is buffered, too.
  std::fflush(nullptr);
  if (!board.isOpen()) {
    // Not all have come, so that there is nothing to look at.
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return;
  }
  board.report();
  Deadline deadline = Clock::now() + std::chrono::seconds(2);
  while (!board.haveAllReported() && Clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

static void handleExit() {
  State &state = getState();
  std::unique_lock lock(state.mutex, std::try_to_lock);
  // A thread that still joins need not be waited for.
  if (!lock)
    return;
  if (state.isOpen)
    state.board.fail("its process has ended without leaving");
  if ((state.isOpen || state.hasFailed) && !state.board.isSingle()) {
    // The end of MPI would wait for ranks that may not come.
    awaitReports(state.board);
    return;
  }
  int isFinalized = 0;
  MPI_Finalized(&isFinalized);
  if (!state.isOurs || isFinalized)
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

/// How long the start of MPI may take when all processes have come: a quarter
/// of a second, but a busy machine needs longer.
static constexpr auto startTime = std::chrono::seconds(30);

static Error initialize(State &state, Deadline deadline) {
  int isInitialized = 0;
  int isFinalized = 0;
  MPI_Initialized(&isInitialized);
  MPI_Finalized(&isFinalized);
  if (isFinalized)
    return "MPI has been finalized in this process";
  if (isInitialized)
    return {};
  if (state.arrival->knowsOthers())
    deadline = std::max<Deadline>(deadline, Clock::now() + startTime);
  Watchdog watchdog("MPI_Init", deadline);
  int provided = 0;
  if (Error error = checkMpi(
          MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided),
          "MPI_Init_thread"))
    return error;
  state.isOurs = true;
  return {};
}

Error mpi::beginSession(int64_t deadlineMs, Deadline deadline) {
  State &state = getState();
  std::lock_guard lock(state.mutex);
  if (state.isOpen)
    return "this process is a rank of 'mpi' already";
  if (!state.hasExitHandler)
    std::atexit(handleExit);
  state.hasExitHandler = true;
  // Until all have come.
  state.hasFailed = true;
  state.arrival = std::make_unique<Arrival>();
  if (Error error = state.arrival->awaitOthers(deadlineMs, deadline))
    return error;
  if (Error error = initialize(state, deadline))
    return error;
  {
    Watchdog watchdog("the making of communicators",
                      Clock::now() + std::chrono::milliseconds(deadlineMs));
    if (Error error = state.board.open())
      return error;
  }
  state.isOpen = true;
  return {};
}

void mpi::endSession(bool failed, int64_t deadlineMs) {
  State &state = getState();
  std::lock_guard lock(state.mutex);
  state.isOpen = false;
  state.hasFailed = failed;
  state.deadlineMs = deadlineMs;
}

Board &mpi::getBoard() { return getState().board; }
