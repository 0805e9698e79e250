//===- Session.cpp - Start and end of MPI in a process --------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mpi/Session.h"

#include "CommSched/Runtime/Backend.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mpi.h>
#include <mutex>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

using namespace commsched::runtime;
using namespace commsched::runtime::mpi;

//===----------------------------------------------------------------------===//
// Watchdog
//===----------------------------------------------------------------------===//

Watchdog::Watchdog(std::string what, Deadline deadline)
    : thread([this, what = std::move(what), deadline] {
        std::unique_lock<std::mutex> lock(mutex);
        if (ended.wait_until(lock, deadline, [this] { return hasEnded; }))
          return;
        std::fprintf(stderr,
                     "commsched: error: timed out in %s: not all ranks have "
                     "come\n",
                     what.c_str());
        // Neither exit handlers nor MPI may run: they would wait, too.
        _exit(1);
      }) {}

Watchdog::~Watchdog() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    hasEnded = true;
  }
  ended.notify_one();
  thread.join();
}

//===----------------------------------------------------------------------===//
// Arrival of the processes
//===----------------------------------------------------------------------===//

namespace {

/// MPI_Init waits for all processes of the job and does not report which one is
/// missing. The processes of one machine therefore meet before it: each binds a
/// socket with a name of this job and looks for the sockets of the others. The
/// names are abstract, that is, no files, and vanish with their process. If the
/// launcher is not Open MPI's, its variables are missing and there is no such
/// meeting.
///
/// The socket stays bound as long as the object lives.
class Arrival {
public:
  Arrival();
  ~Arrival();
  Arrival(const Arrival &) = delete;
  Arrival &operator=(const Arrival &) = delete;

  /// Waits for the others on this machine; the error names the ranks that have
  /// not come.
  Status awaitOthers(int64_t deadlineMs, Deadline deadline) const;

  /// Whether the launcher lists the other processes, so that `awaitOthers`
  /// waits.
  bool knowsOthers() const { return socket >= 0; }

private:
  bool hasCome(int32_t localRank) const;

  /// Common to the processes that meet.
  std::string job;
  int32_t numLocalRanks = 0;
  /// Whether the ranks of this machine are all ranks, so that their numbers are
  /// those of the ranks.
  bool isWholeJob = false;
  int socket = -1;
};

} // namespace

static std::string getVariable(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

static int32_t getNumber(const char *name) {
  return static_cast<int32_t>(
      std::strtol(getVariable(name).c_str(), nullptr, 10));
}

/// The abstract name of one process; calls `use` with the address.
template <class Use>
static bool withAddress(const std::string &job, int32_t localRank, Use use) {
  std::string name = job + "-" + std::to_string(localRank);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  // The first character stays 0: that makes the name abstract.
  size_t length = std::min(name.size(), sizeof(address.sun_path) - 1);
  std::memcpy(address.sun_path + 1, name.data(), length);
  return use(reinterpret_cast<const sockaddr *>(&address),
             static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 +
                                    length)) == 0;
}

Arrival::Arrival() {
  // A process may join several times.
  static int32_t numArrivals = 0;
  std::string jobName = getVariable("PMIX_NAMESPACE");
  numLocalRanks = getNumber("OMPI_COMM_WORLD_LOCAL_SIZE");
  if (jobName.empty() || numLocalRanks < 1)
    return;
  isWholeJob = numLocalRanks == getNumber("OMPI_COMM_WORLD_SIZE");
  // The name space is a number that another mpirun may have, too; the second
  // variable is random.
  job = "commsched-" + std::to_string(numArrivals++) + "-" + jobName + "-" +
        getVariable("OMPI_MCA_orte_precondition_transports");
  socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  withAddress(job, getNumber("OMPI_COMM_WORLD_LOCAL_RANK"),
              [&](const sockaddr *address, socklen_t size) {
                return bind(socket, address, size);
              });
}

Arrival::~Arrival() {
  if (socket >= 0)
    close(socket);
}

bool Arrival::hasCome(int32_t localRank) const {
  int probe = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  bool isBound =
      withAddress(job, localRank, [&](const sockaddr *address, socklen_t size) {
        return connect(probe, address, size);
      });
  close(probe);
  return isBound;
}

Status Arrival::awaitOthers(int64_t deadlineMs, Deadline deadline) const {
  if (socket < 0)
    return {};
  // A process that was seen may go on, and need not be looked for again.
  int32_t first = 0;
  while (first != numLocalRanks) {
    if (hasCome(first)) {
      ++first;
      continue;
    }
    if (Clock::now() >= deadline)
      break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::string missing;
  for (int32_t rank = first; rank < numLocalRanks; ++rank)
    if (!hasCome(rank))
      missing += (missing.empty() ? "" : "; ") +
                 std::string(isWholeJob ? "rank " : "local rank ") +
                 std::to_string(rank) + " has not come";
  if (missing.empty())
    return {};
  return "timed out after " + std::to_string(deadlineMs) +
         " ms while all ranks meet: " + missing;
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
  bool hasExitHandler = false;
  /// Whether some thread is a rank.
  bool isOpen = false;
  bool hasFailed = false;
  int64_t deadlineMs = 0;
  /// Of the last session: it stays until no process looks for it any more.
  std::unique_ptr<Arrival> arrival;
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

static Status initialize(State &state, Deadline deadline) {
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
  if (!state.hasExitHandler)
    std::atexit(handleExit);
  state.hasExitHandler = true;
  // Until all have come.
  state.hasFailed = true;
  state.arrival = std::make_unique<Arrival>();
  COMMSCHED_TRY(state.arrival->awaitOthers(deadlineMs, deadline));
  COMMSCHED_TRY(initialize(state, deadline));
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
