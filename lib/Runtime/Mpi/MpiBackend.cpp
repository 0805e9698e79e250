//===- MpiBackend.cpp - Ranks as processes of an MPI job ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rank is a process, a collective is one or more non-blocking calls of MPI,
// and compute sleeps and polls. All time stamps are the host's.
//===----------------------------------------------------------------------===//

#include "Mpi/MpiBackend.h"
#include "Core/Program.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <functional>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

using namespace commsched::runtime;
using namespace commsched::runtime::mpi;

namespace {

class MpiBackend final : public HostBackend {
public:
  explicit MpiBackend(const BackendConfig &config)
      : HostBackend(config), board(getBoard()) {}
  ~MpiBackend() override;

  /// Starts MPI and meets all ranks.
  Status join(Deadline deadline);

  Status exchange(const std::string &mine, std::vector<std::string> &all,
                  Deadline deadline) override;
  void fail(const std::string &text) override { board.fail(text); }
  Status checkSite(const Site &site) const override {
    return checkLimits(site);
  }
  Status createGroup(const Group &group, Deadline deadline) override;

  std::unique_ptr<Request> start(Launch launch, Status &status) override;
  bool test(Request &request, Status &status) override;
  Status wait(Request &request, Deadline deadline) override;
  Status poll() override;

  Status compute(const Operator &op, int64_t ns, const void *const *inputs,
                 void *const *outputs) override;

  Status beginStep() override;
  Status shutdown(bool failed, Deadline deadline) override;

private:
  void complete(MpiRequest &request);
  Status progress();
  bool isDone(HostRequest &request) override;
  /// Collectives go on.
  Status await(HostRequest &request, Deadline deadline) override;

  /// Ranks that have ended, and those that will never come to `launch`.
  RankStates findFailed(Clock::time_point now, const Launch *launch);
  /// Polls until `isDone`; an error when that is no use any more: at the
  /// deadline, or because ranks have failed. `launch` is null where all ranks
  /// meet.
  Status pollUntil(const std::function<bool()> &isDone, const Launch *launch,
                   Deadline deadline);
  std::string describeEnd(const Launch *launch, const RankStates &failed) const;
  Status awaitAll(MPI_Request &handle, Deadline deadline);
  Status meet(Deadline deadline);

  bool isOpen = false;
  bool isOversubscribed = false;
  /// How much later than it should have the last operator ended.
  Clock::duration overslept = {};
  int oldTimerSlack = 0;
  Clock::time_point lastLook = Clock::now();
  MPI_Comm world = MPI_COMM_NULL;
  /// By group index; MPI_COMM_NULL where this rank is in no row.
  std::vector<MPI_Comm> communicators;
  Board &board;
  MpiTypes types;
  PendingRequests pending;
  /// Kept between calls of `progress`.
  std::vector<MpiRequest *> ended;
};

} // namespace

//===----------------------------------------------------------------------===//
// Joining, groups and leaving
//===----------------------------------------------------------------------===//

MpiBackend::~MpiBackend() {
  if (isOpen)
    shutdown(/*failed=*/true, Clock::now());
}

Status MpiBackend::join(Deadline deadline) {
  COMMSCHED_TRY(beginSession(options.deadline_ms, deadline));
  isOpen = true;
  // The start of MPI is no wait for others.
  deadline = Clock::now() + std::chrono::milliseconds(options.deadline_ms);
  {
    Watchdog watchdog("the making of communicators", deadline);
    COMMSCHED_TRY(CALL_MPI(MPI_Comm_dup, MPI_COMM_WORLD, &world));
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
  }
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &numRanks);
  isOversubscribed = board.getNumRanksOnNode() > sysconf(_SC_NPROCESSORS_ONLN);
  // Sleeps of the default slack of 50 us would more than double the slices.
  oldTimerSlack = prctl(PR_GET_TIMERSLACK);
  prctl(PR_SET_TIMERSLACK, 1);

  if (options.num_ranks >= 0 && options.num_ranks != numRanks)
    return concat(options.num_ranks, " ranks are asked for, but MPI has ",
                  numRanks, " (mpirun -n starts them)");
  if (options.rank >= 0 && options.rank != rank)
    return concat("rank ", options.rank,
                  " is asked for, but to MPI this is rank ", rank);
  return meet(deadline);
}

Status MpiBackend::exchange(const std::string &mine,
                            std::vector<std::string> &all, Deadline deadline) {
  board.meet();
  MPI_Request handle = MPI_REQUEST_NULL;
  int64_t size = mine.size();
  std::vector<int64_t> sizes(numRanks);
  COMMSCHED_TRY(CALL_MPI(MPI_Iallgather, &size, 1, MPI_INT64_T, sizes.data(), 1,
                         MPI_INT64_T, world, &handle));
  COMMSCHED_TRY(awaitAll(handle, deadline));

  all.assign(numRanks, {});
  all[rank] = mine;
  for (int root = 0; root != numRanks; ++root) {
    if (sizes[root] == 0)
      continue;
    all[root].resize(sizes[root]);
    Extent extent;
    COMMSCHED_TRY(types.getBytes(sizes[root], 1, extent));
    COMMSCHED_TRY(CALL_MPI(MPI_Ibcast, all[root].data(), extent.count,
                           extent.type, root, world, &handle));
    COMMSCHED_TRY(awaitAll(handle, deadline));
  }
  return {};
}

Status MpiBackend::createGroup(const Group &group, Deadline deadline) {
  if (group.index >= static_cast<int32_t>(communicators.size()))
    communicators.resize(group.index + 1, MPI_COMM_NULL);
  COMMSCHED_TRY(meet(deadline));
  Watchdog watchdog("the making of group " + quoteGroup(group), deadline);
  MPI_Comm &communicator = communicators[group.index];
  // Rows are disjoint, so that their first ranks distinguish them.
  int color = group.rank < 0 ? MPI_UNDEFINED : group.members.front();
  COMMSCHED_TRY(
      CALL_MPI(MPI_Comm_split, world, color, group.rank, &communicator));
  if (communicator != MPI_COMM_NULL)
    MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  return {};
}

Status MpiBackend::shutdown(bool failed, Deadline deadline) {
  if (!isOpen)
    return {};
  isOpen = false;
  stopTransfers();
  prctl(PR_SET_TIMERSLACK, oldTimerSlack);
  Status status;
  if (!failed) {
    status = synchronize(deadline);
    if (status)
      status = meet(deadline);
  }
  if (failed || !status) {
    board.fail(status ? "an error of its own" : status.getMessage());
    endSession(/*failed=*/true, options.deadline_ms);
    return status;
  }

  Watchdog watchdog("the end of communicators", deadline);
  for (MPI_Comm &communicator : communicators)
    if (communicator != MPI_COMM_NULL)
      MPI_Comm_free(&communicator);
  types.release();
  MPI_Comm_free(&world);
  endSession(/*failed=*/false, options.deadline_ms);
  return {};
}

//===----------------------------------------------------------------------===//
// Waiting for other ranks
//===----------------------------------------------------------------------===//

/// How long a wait yields the processor to other threads before it sleeps
/// between its polls.
static constexpr auto awakeTime = std::chrono::milliseconds(2);
/// Polls between two looks at the clock and the board. MPI yields by itself
/// when mpirun has seen more ranks than cores; a yield of ours in every poll,
/// too, would double the time of small collectives.
static constexpr int pollsPerLook = 16;
/// A dead process may be noticed this much later.
static constexpr auto lookInterval = std::chrono::milliseconds(10);
/// A rank may fail right after what this one waits for: how long that may still
/// take to arrive here.
static constexpr auto arrivalTime = std::chrono::milliseconds(100);

/// For 20 microseconds, as far as the system can.
static void sleepSlice() {
  timespec slice{0, 20'000};
  nanosleep(&slice, nullptr);
}

RankStates MpiBackend::findFailed(Clock::time_point now, const Launch *launch) {
  bool looks = now - lastLook > lookInterval;
  RankStates failed = board.findFailed(/*lookForProcesses=*/looks);
  if (!looks)
    return failed;
  lastLook = now;
  if (failed.empty() && launch)
    failed = board.findMissing(*launch, /*onlyElsewhere=*/true);
  return failed;
}

Status MpiBackend::pollUntil(const std::function<bool()> &isDone,
                             const Launch *launch, Deadline deadline) {
  Clock::time_point begin = Clock::now();
  RankStates failed;
  for (uint32_t numPolls = 1;; ++numPolls) {
    COMMSCHED_TRY(progress());
    if (isDone())
      return {};
    if (numPolls % pollsPerLook != 0)
      continue;
    Clock::time_point now = Clock::now();
    if (failed.empty()) {
      failed = findFailed(now, launch);
      if (!failed.empty())
        deadline = std::min(deadline, now + arrivalTime);
    }
    if (now >= deadline)
      return describeEnd(launch, failed);
    if (now - begin > awakeTime)
      sleepSlice();
    else if (isOversubscribed)
      sched_yield();
  }
}

std::string MpiBackend::describeEnd(const Launch *launch,
                                    const RankStates &failed) const {
  if (!failed.empty())
    return (launch ? "in the wait for " + describeLaunch(*launch) + ": " : "") +
           describeRanks(failed);
  if (!launch)
    return describeTimeout("while all ranks meet", options.deadline_ms,
                           board.findMissingFromMeeting());
  RankStates missing = board.findMissing(*launch, /*onlyElsewhere=*/false);
  bool haveAll = missing.empty() && !isTransfer(launch->site->kind);
  return describeTimeout(*launch, options.deadline_ms, missing) +
         (haveAll ? ": all ranks have started it" : "");
}

bool MpiBackend::isDone(HostRequest &request) {
  return isTransfer(request.launch.site->kind)
             ? HostBackend::isDone(request)
             : static_cast<MpiRequest &>(request).isRecorded;
}

Status MpiBackend::await(HostRequest &request, Deadline deadline) {
  return pollUntil([&] { return isDone(request); }, &request.launch, deadline);
}

Status MpiBackend::awaitAll(MPI_Request &handle, Deadline deadline) {
  int code = MPI_SUCCESS;
  auto isDone = [&] {
    int isComplete = 0;
    code = MPI_Test(&handle, &isComplete, MPI_STATUS_IGNORE);
    return isComplete || code != MPI_SUCCESS;
  };
  COMMSCHED_TRY(pollUntil(isDone, /*launch=*/nullptr, deadline));
  return checkMpi(code, "MPI_Test");
}

Status MpiBackend::meet(Deadline deadline) {
  board.meet();
  MPI_Request handle = MPI_REQUEST_NULL;
  COMMSCHED_TRY(CALL_MPI(MPI_Ibarrier, world, &handle));
  return awaitAll(handle, deadline);
}

//===----------------------------------------------------------------------===//
// Calls of the core
//===----------------------------------------------------------------------===//

/// All MPI requests of the launch have ended.
void MpiBackend::complete(MpiRequest &request) {
  finishCollective(request);
  for (const Staged &staged : request.staged)
    recorder.addStagedBytes(staged.bytes);
  request.staged.clear();
  recordEnd(request, {getStepNs(request.begin), getStepNs(Clock::now())});
}

Status MpiBackend::progress() {
  ended.clear();
  COMMSCHED_TRY(pending.poll(ended));
  for (MpiRequest *request : ended)
    complete(*request);
  return {};
}

std::unique_ptr<Request> MpiBackend::start(Launch launch, Status &status) {
  if (isTransfer(launch.site->kind)) {
    auto transfer = std::make_unique<HostTransfer>();
    startTransfer(*transfer, std::move(launch));
    return transfer;
  }
  status = board.start(launch);
  if (!status)
    return nullptr;
  auto request = std::make_unique<MpiRequest>();
  request->begin = Clock::now();
  recorder.setStarted(launch);
  request->launch = std::move(launch);
  status = startCollective(
      *request, communicators[request->launch.group->index], types, pending);
  if (!status) {
    status = within(describeLaunch(request->launch), status);
    return nullptr;
  }
  if (request->numPending == 0)
    complete(*request);
  inFlight.push_back(request.get());
  return request;
}

bool MpiBackend::test(Request &request, Status &status) {
  status = poll();
  return status && isDone(static_cast<HostRequest &>(request));
}

Status MpiBackend::wait(Request &base, Deadline deadline) {
  auto &request = static_cast<HostRequest &>(base);
  Clock::time_point begin = Clock::now();
  // A rank that waits anyway has no lost time to make up for.
  if (!isDone(request))
    overslept = {};
  COMMSCHED_TRY(finish(request, deadline));
  recorder.record(COMMSCHED_RECORD_WAIT, request.launch.site->index,
                  {getStepNs(begin), getStepNs(Clock::now())});
  return {};
}

Status MpiBackend::poll() {
  COMMSCHED_TRY(progress());
  RankStates failed = findFailed(Clock::now(), /*launch=*/nullptr);
  return failed.empty() ? Status() : describeRanks(failed);
}

Status MpiBackend::compute(const Operator &op, int64_t ns,
                           const void *const *inputs, void *const *outputs) {
  // A sleep takes longer than requested. The next operator sleeps shorter by
  // that time, so that the errors of many small operators do not add up.
  Clock::time_point begin = Clock::now() - overslept;
  Clock::time_point end = begin + std::chrono::nanoseconds(ns);
  if (options.emulate_data)
    emulateData(op, inputs, outputs);
  // Near the end, a sleep would take too long.
  constexpr auto margin = std::chrono::microseconds(60);
  Clock::time_point now;
  for (;;) {
    if (Status status = poll(); !status)
      return "in operator '" + op.name +
             (op.location.empty() ? "'" : "' (" + op.location + ")") + ": " +
             status.getMessage();
    now = Clock::now();
    if (now >= end)
      break;
    if (end - now > margin)
      sleepSlice();
    else
      sched_yield();
  }
  overslept = now - end;
  recorder.record(COMMSCHED_RECORD_COMPUTE, op.index,
                  {getStepNs(begin), getStepNs(end)});
  return {};
}

Status MpiBackend::beginStep() {
  stepBegin = Clock::now();
  overslept = {};
  return {};
}

Backend *commsched_create_backend(const BackendConfig *config,
                                  std::string *error) {
  if (config->version != backendVersion) {
    *error = "'mpi' is of another version than the runtime";
    return nullptr;
  }
  try {
    auto backend = std::make_unique<MpiBackend>(*config);
    Status joined = backend->join(config->deadline);
    if (joined)
      return backend.release();
    backend->fail(joined.getMessage());
    *error = joined.getMessage();
  } catch (const std::exception &exception) {
    *error = exception.what();
  }
  return nullptr;
}
