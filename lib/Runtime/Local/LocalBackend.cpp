//===- LocalBackend.cpp - Ranks as threads of one process -----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The built-in backend: the ranks are threads of one process that gave the same
// job name. It needs no other software, reduces in the order of the ranks,
// checks how programs use their buffers, and can take the times of collectives
// and operators from the program's description.
//
//===----------------------------------------------------------------------===//

#include "CommSched/Runtime/Backend.h"
#include "Core/BackendLoader.h"
#include "Core/EmulatedData.h"
#include "Core/Launcher.h"
#include "Local/LocalJob.h"
#include "Local/LocalTransfers.h"
#include "Numerics/ElementArithmetic.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace commsched::runtime;

//===----------------------------------------------------------------------===//
// Clock of the compute stream
//===----------------------------------------------------------------------===//

namespace {

/// The clock of a rank's compute stream, in nanoseconds since the step began.
/// With modelled times it is a number that computing and waiting add up; calls
/// sleep until the real time reaches it, so that the jitter of one sleep does
/// not delay the calls after it. Otherwise it is the real time.
class LocalClock {
public:
  explicit LocalClock(bool modelled) : modelled(modelled) { begin(); }

  bool isModelled() const { return modelled; }

  void begin() {
    stepBegin = Clock::now();
    modelledNs = 0;
  }

  int64_t now() const { return modelled ? modelledNs : getNs(Clock::now()); }

  /// Real time advances by itself.
  void advanceTo(int64_t ns) { modelledNs = std::max(modelledNs, ns); }

  /// The real time at which it is `ns`.
  Clock::time_point getRealTime(int64_t ns) const {
    return stepBegin + std::chrono::nanoseconds(ns);
  }
  int64_t getNs(Clock::time_point time) const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time -
                                                                stepBegin)
        .count();
  }

private:
  bool modelled;
  int64_t modelledNs = 0;
  Clock::time_point stepBegin;
};

} // namespace

//===----------------------------------------------------------------------===//
// Backend
//===----------------------------------------------------------------------===//

namespace {
struct LocalRequest final : Request {
  std::shared_ptr<Meeting> meeting;
  Clock::time_point startedAt;
  bool isRecorded = false;
};

class LocalBackend final : public Backend {
public:
  LocalBackend(const BackendConfig &config, int32_t rank, int32_t numRanks,
               std::shared_ptr<LocalJob> job)
      : options(*config.options), recorder(*config.recorder), rank(rank),
        numRanks(numRanks), job(std::move(job)),
        clock(options.modelled_times != 0) {}

  int32_t getRank() const override { return rank; }
  int32_t getNumRanks() const override { return numRanks; }

  Status exchange(const std::string &mine, std::vector<std::string> &all,
                  Deadline deadline) override {
    return job->exchange(rank, mine, all, options.deadline_ms, deadline);
  }
  void fail(const std::string &text) override { job->fail(rank, text); }

  Status checkSite(const Site &) const override { return Status(); }
  Status checkHostCode(const std::string &) const override { return Status(); }
  Status createGroup(const Group &, Deadline) override { return Status(); }

  std::unique_ptr<Request> start(Launch launch, Status &status) override;
  bool test(Request &request, Status &status) override;
  Status wait(Request &request, Deadline deadline) override;
  Status barrier(const Launch &launch, Deadline deadline) override;
  Status poll() override { return job->getFailure(); }

  Status compute(const Operator &op, int64_t ns, const void *const *inputs,
                 void *const *outputs) override;
  Status copy(const StridedCopy &copy) override { return copyRows(copy); }
  Status zero(void *target, int64_t bytes) override {
    std::memset(target, 0, bytes);
    return Status();
  }

  void *allocate(int64_t bytes, int64_t alignment, Status &status) override;
  void release(void *buffer) override { std::free(buffer); }
  Status upload(void *buffer, const void *host, int64_t bytes) override {
    std::memcpy(buffer, host, bytes);
    return Status();
  }
  Status download(void *host, const void *buffer, int64_t bytes) override {
    std::memcpy(host, buffer, bytes);
    return Status();
  }

  Status beginStep() override {
    streams.clear();
    transferEndNs = {};
    clock.begin();
    return Status();
  }
  Status endStep(int64_t &stepNs, Deadline deadline) override;
  Status synchronize(Deadline deadline) override;
  Status shutdown(bool, Deadline) override {
    transferThreads.stop();
    job->leave(rank);
    return Status();
  }

private:
  std::shared_ptr<Meeting> post(const Launch &launch, Staged staged,
                                Status &status);
  /// Waits until the meeting is complete and records it as `launch`.
  Status finish(LocalRequest &request, Deadline deadline);
  std::unique_ptr<Request> startTransfer(Launch launch);
  bool testTransfer(LocalTransfer &transfer);
  Status waitForTransfer(LocalTransfer &transfer, Deadline deadline);
  /// Waits until the data has been copied, and records it.
  Status finishTransfer(LocalTransfer &transfer, Deadline deadline);
  int64_t &getTransferEnd(const Launch &launch) {
    return transferEndNs[launch.site->kind == COMMSCHED_RELOAD];
  }
  Interval getInterval(const Meeting &meeting, Clock::time_point startedAt);
  /// Lets real time catch up with the modelled one.
  Status sleepUntilClock() {
    if (!clock.isModelled())
      return Status();
    return job->sleepUntil(rank, clock.getRealTime(clock.now()));
  }

  const commsched_options &options;
  Recorder &recorder;
  int32_t rank;
  int32_t numRanks;
  std::shared_ptr<LocalJob> job;
  LocalClock clock;
  /// With modelled times, the last meeting on each stream.
  std::map<int32_t, std::shared_ptr<Meeting>> streams;
  std::vector<LocalRequest *> inFlight;
  TransferThreads transferThreads;
  /// With modelled times, when the last transfer in each direction ends.
  std::array<int64_t, 2> transferEndNs = {};
  std::vector<LocalTransfer *> transfersInFlight;
};
} // namespace

std::unique_ptr<Backend>
commsched::runtime::createLocalBackend(const BackendConfig &config,
                                       Status &status) {
  const commsched_options &options = *config.options;
  int32_t rank = options.rank;
  int32_t numRanks = options.num_ranks;
  if (rank == -1 && numRanks == -1) {
    rank = 0;
    numRanks = 1;
  }
  status = checkRank(rank, numRanks);
  if (!status)
    return nullptr;
  std::shared_ptr<LocalJob> job =
      LocalJob::join(options.job, rank, numRanks, status);
  if (!job)
    return nullptr;
  return std::make_unique<LocalBackend>(config, rank, numRanks, std::move(job));
}

std::shared_ptr<Meeting> LocalBackend::post(const Launch &launch, Staged staged,
                                            Status &status) {
  LocalJob::Arrival arrival;
  arrival.launch = &launch;
  arrival.rank = rank;
  arrival.staged = std::move(staged);
  arrival.isModelled = clock.isModelled();
  arrival.clockNs = clock.now();
  if (clock.isModelled())
    arrival.before = streams[launch.group->stream];
  std::shared_ptr<Meeting> meeting = job->post(std::move(arrival), status);
  if (!meeting)
    return nullptr;
  if (clock.isModelled())
    streams[launch.group->stream] = meeting;
  recorder.setStarted(launch);
  return meeting;
}

std::unique_ptr<Request> LocalBackend::start(Launch launch, Status &status) {
  if (isTransfer(launch.site->kind))
    return startTransfer(std::move(launch));
  auto request = std::make_unique<LocalRequest>();
  request->startedAt = Clock::now();
  Staged staged = stageInputs(launch);
  recorder.addStagedBytes(countBytes(staged));
  if (options.check_buffers)
    spoilOutputs(launch, staged);
  request->meeting = post(launch, std::move(staged), status);
  if (!request->meeting)
    return nullptr;
  request->launch = std::move(launch);
  inFlight.push_back(request.get());
  return request;
}

bool LocalBackend::test(Request &base, Status &status) {
  if (isTransfer(base.launch.site->kind))
    return testTransfer(static_cast<LocalTransfer &>(base));
  auto &request = static_cast<LocalRequest &>(base);
  if (!job->isComplete(*request.meeting)) {
    status = job->getFailure();
    return false;
  }
  if (!clock.isModelled())
    return true;
  int64_t endNs = request.meeting->interval.endNs;
  return endNs <= clock.now() || clock.getRealTime(endNs) <= Clock::now();
}

Interval LocalBackend::getInterval(const Meeting &meeting,
                                   Clock::time_point startedAt) {
  if (clock.isModelled())
    return meeting.interval;
  int64_t begin = clock.getNs(startedAt);
  return {begin, std::max(begin, clock.getNs(meeting.completeAt))};
}

Status LocalBackend::finish(LocalRequest &request, Deadline deadline) {
  const Launch &launch = request.launch;
  if (Status status = job->wait(request.meeting, launch, rank,
                                options.deadline_ms, deadline);
      !status)
    return status;
  if (request.isRecorded)
    return Status();
  request.isRecorded = true;
  recorder.record(COMMSCHED_RECORD_COLLECTIVE, launch.site->index,
                  getInterval(*request.meeting, request.startedAt));
  recorder.setCompleted(launch);
  return Status();
}

Status LocalBackend::wait(Request &base, Deadline deadline) {
  if (isTransfer(base.launch.site->kind))
    return waitForTransfer(static_cast<LocalTransfer &>(base), deadline);
  auto &request = static_cast<LocalRequest &>(base);
  const Launch &launch = request.launch;
  const Meeting &meeting = *request.meeting;
  int64_t beginNs = clock.now();
  if (Status status = finish(request, deadline); !status)
    return status;
  inFlight.erase(std::find(inFlight.begin(), inFlight.end(), &request));

  bool isRecv = launch.site->kind == COMMSCHED_RECV;
  size_t self = isRecv || launch.site->kind == COMMSCHED_SEND
                    ? 0
                    : static_cast<size_t>(launch.group->rank);
  if (options.check_buffers)
    if (Status status = checkBuffers(launch, meeting.staged[self]); !status)
      return status;
  std::vector<const Staged *> sent;
  for (const Staged &staged : isRecv ? meeting.send->staged : meeting.staged)
    sent.push_back(&staged);
  if (Status status = checkParts(launch, sent); !status)
    return status;
  writeOutputs(launch, sent);

  // Moving data takes real time, which is a part of the modelled time.
  clock.advanceTo(meeting.interval.endNs);
  if (Status status = sleepUntilClock(); !status)
    return status;
  recorder.record(COMMSCHED_RECORD_WAIT, launch.site->index,
                  {beginNs, clock.now()});
  return Status();
}

Status LocalBackend::barrier(const Launch &launch, Deadline deadline) {
  LocalRequest request;
  request.launch = launch;
  request.startedAt = Clock::now();
  int64_t beginNs = clock.now();
  Status posted;
  request.meeting = post(launch, Staged(), posted);
  if (!request.meeting)
    return posted;
  if (Status status = finish(request, deadline); !status)
    return status;
  clock.advanceTo(request.meeting->interval.endNs);
  if (Status status = sleepUntilClock(); !status)
    return status;
  recorder.record(COMMSCHED_RECORD_WAIT, launch.site->index,
                  {beginNs, clock.now()});
  return Status();
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

std::unique_ptr<Request> LocalBackend::startTransfer(Launch launch) {
  std::unique_ptr<LocalTransfer> transfer =
      makeLocalTransfer(std::move(launch), options.check_buffers != 0);
  const Site &site = *transfer->launch.site;
  recorder.addStagedBytes(countBytes(transfer->staged));
  int64_t &endNs = getTransferEnd(transfer->launch);
  transfer->modelled.beginNs = std::max(clock.now(), endNs);
  endNs = transfer->modelled.beginNs + std::max<int64_t>(site.runtimeNs, 0);
  transfer->modelled.endNs = endNs;
  recorder.setStarted(transfer->launch);
  transferThreads.get(site.kind).start(transfer->job);
  transfersInFlight.push_back(transfer.get());
  return transfer;
}

bool LocalBackend::testTransfer(LocalTransfer &transfer) {
  if (!transferThreads.get(transfer.launch.site->kind).isDone(*transfer.job))
    return false;
  int64_t endNs = transfer.modelled.endNs;
  return !clock.isModelled() || endNs <= clock.now() ||
         clock.getRealTime(endNs) <= Clock::now();
}

Status LocalBackend::finishTransfer(LocalTransfer &transfer,
                                    Deadline deadline) {
  const Launch &launch = transfer.launch;
  TransferThread &thread = transferThreads.get(launch.site->kind);
  if (!thread.waitUntil(*transfer.job, deadline))
    return describeTimeout(launch, options.deadline_ms, {});
  if (transfer.isRecorded)
    return Status();
  transfer.isRecorded = true;
  Interval measured{clock.getNs(transfer.job->begin),
                    clock.getNs(transfer.job->end)};
  recorder.record(COMMSCHED_RECORD_COLLECTIVE, launch.site->index,
                  clock.isModelled() ? transfer.modelled : measured);
  recorder.setCompleted(launch);
  return Status();
}

Status LocalBackend::waitForTransfer(LocalTransfer &transfer,
                                     Deadline deadline) {
  int64_t beginNs = clock.now();
  if (Status status = finishTransfer(transfer, deadline); !status)
    return status;
  transfersInFlight.erase(
      std::find(transfersInFlight.begin(), transfersInFlight.end(), &transfer));
  if (Status status = deliver(transfer); !status)
    return status;
  clock.advanceTo(transfer.modelled.endNs);
  if (Status status = sleepUntilClock(); !status)
    return status;
  recorder.record(COMMSCHED_RECORD_WAIT, transfer.launch.site->index,
                  {beginNs, clock.now()});
  return Status();
}

//===----------------------------------------------------------------------===//
// Compute and steps
//===----------------------------------------------------------------------===//

Status LocalBackend::compute(const Operator &op, int64_t ns,
                             const void *const *inputs, void *const *outputs) {
  int64_t beginNs = clock.now();
  if (options.emulate_data)
    emulateData(op, inputs, outputs);
  clock.advanceTo(beginNs + ns);
  if (Status status = job->sleepUntil(rank, clock.getRealTime(beginNs + ns));
      !status)
    return status;
  recorder.record(COMMSCHED_RECORD_COMPUTE, op.index, {beginNs, clock.now()});
  return Status();
}

void *LocalBackend::allocate(int64_t bytes, int64_t alignment, Status &status) {
  void *buffer = nullptr;
  if (posix_memalign(&buffer, alignment, bytes) != 0) {
    status = "out of memory";
    return nullptr;
  }
  return buffer;
}

Status LocalBackend::synchronize(Deadline deadline) {
  for (LocalRequest *request : inFlight)
    if (Status status = finish(*request, deadline); !status)
      return status;
  for (LocalTransfer *transfer : transfersInFlight)
    if (Status status = finishTransfer(*transfer, deadline); !status)
      return status;
  for (int64_t endNs : transferEndNs)
    clock.advanceTo(endNs);
  // The last on a stream ends after all others there.
  for (const auto &[group, meeting] : streams)
    if (job->isComplete(*meeting))
      clock.advanceTo(meeting->interval.endNs);
  return sleepUntilClock();
}

Status LocalBackend::endStep(int64_t &stepNs, Deadline deadline) {
  if (Status status = synchronize(deadline); !status)
    return status;
  stepNs = clock.getNs(Clock::now());
  return Status();
}
