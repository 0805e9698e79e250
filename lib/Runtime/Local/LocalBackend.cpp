//===- LocalBackend.cpp - Ranks as threads of one process -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The built-in backend: the ranks are threads of one process that gave the same
// job name. It needs no other software, reduces in the order of the ranks,
// checks how programs use their buffers, and can take the times of collectives
// and operators from the program's description.
//===----------------------------------------------------------------------===//

#include "Core/HostBackend.h"
#include "Core/Launcher.h"
#include "Local/LocalJob.h"

#include <algorithm>

using namespace commsched::runtime;

namespace {
struct LocalRequest final : HostRequest {
  std::shared_ptr<Meeting> meeting;
  Clock::time_point startedAt;
};

/// A thread copies from the input to the output. If buffers are checked, it
/// copies from what was staged at the start to a buffer that the wait delivers,
/// so that a program that writes the input or touches the output too early is
/// found in every run.
struct LocalTransfer final : HostTransfer {
  /// In modelled time.
  Interval modelled;
  /// Only if buffers are checked: what was sent, and what has arrived.
  Staged staged, arrived;
};

class LocalBackend final : public HostBackend {
public:
  LocalBackend(const BackendConfig &config, int32_t rank, int32_t numRanks,
               std::shared_ptr<LocalJob> job)
      : HostBackend(config, rank, numRanks), job(std::move(job)),
        isModelled(config.options->modelled_times != 0) {}

  Status exchange(const std::string &mine, std::vector<std::string> &all,
                  Deadline deadline) override {
    return job->exchange(rank, mine, all, options.deadline_ms, deadline);
  }
  void fail(const std::string &text) override { job->fail(rank, text); }

  Status checkSite(const Site &) const override { return Status(); }
  Status createGroup(const Group &, Deadline) override { return Status(); }

  std::unique_ptr<Request> start(Launch launch, Status &status) override;
  bool test(Request &request, Status &status) override;
  Status wait(Request &request, Deadline deadline) override;
  Status poll() override { return job->getFailure(); }

  Status compute(const Operator &op, int64_t ns, const void *const *inputs,
                 void *const *outputs) override;

  Status beginStep() override {
    streams.clear();
    transferEndNs = {};
    stepBegin = Clock::now();
    modelledNs = 0;
    return Status();
  }
  Status synchronize(Deadline deadline) override;
  Status shutdown(bool, Deadline) override {
    stopTransfers();
    job->leave(rank);
    return Status();
  }

private:
  /// What the launch sends; spoils its outputs if buffers are checked.
  Staged stage(const Launch &launch) const {
    Staged staged = stageInputs(launch);
    for (const StagedTensor &tensor : staged)
      recorder.addStagedBytes(tensor.size);
    if (options.check_buffers)
      spoilOutputs(launch, staged);
    return staged;
  }
  std::unique_ptr<LocalTransfer> startTransfer(Launch launch);
  bool isDone(HostRequest &request) override;
  Status await(HostRequest &request, Deadline deadline) override;
  Interval getInterval(HostRequest &request) override;
  Interval getModelled(const HostRequest &request) const;
  /// Checks the buffers of a collective that is complete, and writes its
  /// outputs.
  Status deliver(const LocalRequest &request) const;

  /// The clock of the compute stream, in nanoseconds since the step began. With
  /// modelled times it is a number that computing and waiting add up; calls
  /// sleep until the real time reaches it, so that the jitter of one sleep does
  /// not delay the calls after it. Otherwise it is the real time.
  int64_t getClockNs() const {
    return isModelled ? modelledNs : getStepNs(Clock::now());
  }
  /// Real time advances by itself.
  void advanceTo(int64_t ns) { modelledNs = std::max(modelledNs, ns); }
  /// The real time at which the clock is `ns`.
  Clock::time_point getRealTime(int64_t ns) const {
    return stepBegin + std::chrono::nanoseconds(ns);
  }
  /// Whether a wait for what ends at `ns` would not sleep.
  bool hasCome(int64_t ns) const {
    return !isModelled || ns <= modelledNs || getRealTime(ns) <= Clock::now();
  }
  /// Lets real time catch up with the modelled one.
  Status sleepUntilClock() {
    return isModelled ? job->sleepUntil(rank, getRealTime(modelledNs))
                      : Status();
  }

  std::shared_ptr<LocalJob> job;
  bool isModelled;
  int64_t modelledNs = 0;
  /// With modelled times, the last meeting on each stream.
  std::map<int32_t, std::shared_ptr<Meeting>> streams;
  /// With modelled times, when the last transfer in each direction ends.
  std::array<int64_t, 2> transferEndNs = {};
};
} // namespace

std::unique_ptr<Backend>
commsched::runtime::createLocalBackend(const BackendConfig &config,
                                       Status &status) {
  const commsched_options &options = *config.options;
  bool isAlone = options.rank == -1 && options.num_ranks == -1;
  int32_t rank = isAlone ? 0 : options.rank;
  int32_t numRanks = isAlone ? 1 : options.num_ranks;
  status = checkRank(rank, numRanks);
  if (!status)
    return nullptr;
  std::shared_ptr<LocalJob> job =
      LocalJob::join(options.job, rank, numRanks, status);
  if (!job)
    return nullptr;
  return std::make_unique<LocalBackend>(config, rank, numRanks, std::move(job));
}

std::unique_ptr<Request> LocalBackend::start(Launch launch, Status &status) {
  if (isTransfer(launch.site->kind))
    return startTransfer(std::move(launch));
  auto request = std::make_unique<LocalRequest>();
  request->startedAt = Clock::now();
  std::shared_ptr<Meeting> before;
  if (isModelled)
    before = streams[launch.group->stream];
  request->meeting = job->post(launch, rank, stage(launch),
                               isModelled ? modelledNs : 0, before, status);
  if (!request->meeting)
    return nullptr;
  if (isModelled)
    streams[launch.group->stream] = request->meeting;
  recorder.setStarted(launch);
  request->launch = std::move(launch);
  inFlight.push_back(request.get());
  return request;
}

bool LocalBackend::isDone(HostRequest &request) {
  return isTransfer(request.launch.site->kind)
             ? HostBackend::isDone(request)
             : job->isComplete(*static_cast<LocalRequest &>(request).meeting);
}

Status LocalBackend::await(HostRequest &request, Deadline deadline) {
  const Launch &launch = request.launch;
  return isTransfer(launch.site->kind)
             ? HostBackend::await(request, deadline)
             : job->wait(*static_cast<LocalRequest &>(request).meeting, launch,
                         rank, options.deadline_ms, deadline);
}

Interval LocalBackend::getModelled(const HostRequest &request) const {
  return isTransfer(request.launch.site->kind)
             ? static_cast<const LocalTransfer &>(request).modelled
             : static_cast<const LocalRequest &>(request).meeting->interval;
}

Interval LocalBackend::getInterval(HostRequest &request) {
  if (isModelled)
    return getModelled(request);
  if (isTransfer(request.launch.site->kind))
    return HostBackend::getInterval(request);
  auto &collective = static_cast<LocalRequest &>(request);
  int64_t begin = getStepNs(collective.startedAt);
  return {begin, std::max(begin, getStepNs(collective.meeting->completeAt))};
}

bool LocalBackend::test(Request &base, Status &status) {
  auto &request = static_cast<HostRequest &>(base);
  if (isDone(request))
    return hasCome(getModelled(request).endNs);
  if (!isTransfer(base.launch.site->kind))
    status = job->getFailure();
  return false;
}

Status LocalBackend::wait(Request &base, Deadline deadline) {
  auto &request = static_cast<HostRequest &>(base);
  const Launch &launch = request.launch;
  int64_t beginNs = getClockNs();
  COMMSCHED_TRY(finish(request, deadline));
  if (!isTransfer(launch.site->kind)) {
    COMMSCHED_TRY(deliver(static_cast<LocalRequest &>(request)));
  } else if (options.check_buffers) {
    auto &transfer = static_cast<LocalTransfer &>(request);
    COMMSCHED_TRY(checkBuffers(launch, transfer.staged));
    writeOutputs(launch, {&transfer.arrived});
  }
  // Moving data takes real time, which is a part of the modelled time.
  advanceTo(getModelled(request).endNs);
  COMMSCHED_TRY(sleepUntilClock());
  recorder.record(COMMSCHED_RECORD_WAIT, launch.site->index,
                  {beginNs, getClockNs()});
  return Status();
}

Status LocalBackend::deliver(const LocalRequest &request) const {
  const Launch &launch = request.launch;
  const Meeting &meeting = *request.meeting;
  bool isRecv = launch.site->kind == COMMSCHED_RECV;
  size_t self = isRecv || launch.site->kind == COMMSCHED_SEND
                    ? 0
                    : static_cast<size_t>(launch.group->rank);
  if (options.check_buffers)
    COMMSCHED_TRY(checkBuffers(launch, meeting.staged[self]));
  std::vector<const Staged *> sent;
  for (const Staged &staged : isRecv ? meeting.send->staged : meeting.staged)
    sent.push_back(&staged);
  COMMSCHED_TRY(checkParts(launch, sent));
  writeOutputs(launch, sent);
  return Status();
}

std::unique_ptr<LocalTransfer> LocalBackend::startTransfer(Launch launch) {
  auto transfer = std::make_unique<LocalTransfer>();
  if (options.check_buffers) {
    transfer->staged = stage(launch);
    for (const StagedTensor &staged : transfer->staged) {
      StagedTensor &arrived = transfer->arrived.emplace_back();
      arrived.size = staged.size;
      arrived.bytes.reset(new char[arrived.size]);
      transfer->copies.push_back(
          {arrived.bytes.get(), staged.bytes.get(), staged.size});
    }
  }
  int64_t &endNs = transferEndNs[launch.site->kind == COMMSCHED_RELOAD];
  transfer->modelled.beginNs = std::max(getClockNs(), endNs);
  endNs =
      transfer->modelled.beginNs + std::max<int64_t>(launch.site->runtimeNs, 0);
  transfer->modelled.endNs = endNs;
  HostBackend::startTransfer(*transfer, std::move(launch));
  return transfer;
}

Status LocalBackend::compute(const Operator &op, int64_t ns,
                             const void *const *inputs, void *const *outputs) {
  int64_t beginNs = getClockNs();
  if (options.emulate_data)
    emulateData(op, inputs, outputs);
  advanceTo(beginNs + ns);
  COMMSCHED_TRY(job->sleepUntil(rank, getRealTime(beginNs + ns)));
  recorder.record(COMMSCHED_RECORD_COMPUTE, op.index, {beginNs, getClockNs()});
  return Status();
}

Status LocalBackend::synchronize(Deadline deadline) {
  COMMSCHED_TRY(HostBackend::synchronize(deadline));
  for (int64_t endNs : transferEndNs)
    advanceTo(endNs);
  // The last on a stream ends after all others there.
  for (const auto &[group, meeting] : streams)
    if (job->isComplete(*meeting))
      advanceTo(meeting->interval.endNs);
  return sleepUntilClock();
}
