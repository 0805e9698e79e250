//===- Session.cpp - Start and end of MPI in a process --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Mpi/MpiBackend.h"

#include "Bootstrap/Bootstrap.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <unistd.h>

using namespace commsched::runtime;
using namespace commsched::runtime::mpi;

Watchdog::Watchdog(std::string what, Deadline deadline)
    : thread([what = std::move(what), deadline, end = ended.get_future()] {
        if (end.wait_until(deadline) == std::future_status::ready)
          return;
        std::fprintf(stderr,
                     "commsched: error: timed out in %s: not all ranks have "
                     "come\n",
                     what.c_str());
        // Neither exit handlers nor MPI may run: they would wait, too.
        _exit(1);
      }) {}

Watchdog::~Watchdog() {
  ended.set_value();
  thread.join();
}

//===----------------------------------------------------------------------===//
// Arrival of the processes
//===----------------------------------------------------------------------===//

static int32_t getNumber(const char *name) {
  const char *value = std::getenv(name);
  return value ? std::atoi(value) : 0;
}

/// MPI_Init waits for all processes of the job and does not report which one is
/// missing. The processes of one machine therefore meet before it, if the
/// launcher is Open MPI's, which says how many they are: `knowsOthers`.
static Status meetOnNode(Deadline deadline, bool &knowsOthers) {
  JobPlace place;
  place.rank = getNumber("OMPI_COMM_WORLD_LOCAL_RANK");
  place.numRanks = getNumber("OMPI_COMM_WORLD_LOCAL_SIZE");
  knowsOthers = place.numRanks > 0;
  if (!knowsOthers)
    return {};
  // A folder of this machine, whatever others the ranks see.
  COMMSCHED_TRY(readJobPlace(
      [](const char *name) {
        for (const char *read : {"TMPDIR", "PMIX_NAMESPACE",
                                 "OMPI_MCA_orte_precondition_transports"})
          if (std::strcmp(name, read) == 0)
            return std::getenv(name);
        return static_cast<char *>(nullptr);
      },
      place));
  // A process may join several times.
  static int32_t numMeetings = 0;
  place.folder += "-" + std::to_string(numMeetings++);
  std::unique_ptr<Bootstrap> bootstrap;
  Status met = Bootstrap::join(place, [] { return ""; }, deadline, bootstrap);
  if (met) {
    // The others need not be waited for.
    bootstrap->leave(/*failed=*/true, deadline);
    return {};
  }
  bool areAll = place.numRanks == getNumber("OMPI_COMM_WORLD_SIZE");
  return (areAll ? "" : "among the ranks of this machine, counted from 0: ") +
         met.getMessage();
}

//===----------------------------------------------------------------------===//
// Session
//===----------------------------------------------------------------------===//

namespace {

struct State {
  /// Recursive, since MPI may end the process itself.
  std::recursive_mutex mutex;
  /// Whether MPI_Init is ours, so that MPI_Finalize is, too.
  bool isOurs = false;
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

/// A launcher kills the other processes when one has ended with an error. The
/// processes therefore end together, after all have reported their errors.
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

Status mpi::checkMpi(int code, const char *call) {
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

static Status initialize(State &state, bool knowsOthers, Deadline deadline) {
  int isInitialized = 0;
  int isFinalized = 0;
  MPI_Initialized(&isInitialized);
  MPI_Finalized(&isFinalized);
  if (isFinalized)
    return "MPI has been finalized in this process";
  if (isInitialized)
    return {};
  if (knowsOthers)
    deadline = std::max<Deadline>(deadline, Clock::now() + startTime);
  Watchdog watchdog("MPI_Init", deadline);
  int provided = 0;
  COMMSCHED_TRY(CALL_MPI(MPI_Init_thread, nullptr, nullptr, MPI_THREAD_FUNNELED,
                         &provided));
  state.isOurs = true;
  return {};
}

Status mpi::beginSession(int64_t deadlineMs, Deadline deadline) {
  State &state = getState();
  std::lock_guard lock(state.mutex);
  if (state.isOpen)
    return "this process is a rank of 'mpi' already";
  static int registered = std::atexit(handleExit);
  (void)registered;
  // Until all have come.
  state.hasFailed = true;
  bool knowsOthers = false;
  COMMSCHED_TRY(meetOnNode(deadline, knowsOthers));
  COMMSCHED_TRY(initialize(state, knowsOthers, deadline));
  {
    Watchdog watchdog("the making of communicators",
                      Clock::now() + std::chrono::milliseconds(deadlineMs));
    COMMSCHED_TRY(state.board.open());
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
