//===- NcclBackend.cpp - Collectives on NVIDIA GPUs -----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Nccl/NcclBackend.h"

#include "Core/Launcher.h"
#include "Core/Sites.h"

#include <cstdlib>
#include <cstring>
#include <thread>

using namespace commsched::runtime;
using namespace commsched::runtime::nccl;

//===----------------------------------------------------------------------===//
// Starting and stopping
//===----------------------------------------------------------------------===//

NcclBackend::NcclBackend(const BackendConfig &config)
    : recorder(*config.recorder), deadlineMs(config.options->deadline_ms),
      emulatesData(config.options->emulate_data != 0) {}

std::unique_ptr<Backend> NcclBackend::create(const BackendConfig &config,
                                             Error &error) {
  if (config.version != backendVersion) {
    error = "'nccl' has version " + std::to_string(backendVersion) +
            " of the runtime, but the program has " +
            std::to_string(config.version);
    return nullptr;
  }
  if (config.options->modelled_times) {
    error = "'nccl' measures times and cannot model them";
    return nullptr;
  }
  std::unique_ptr<NcclBackend> backend(new NcclBackend(config));
  if ((error = backend->join(config))) {
    if (backend->bootstrap) {
      backend->fail(*error);
      backend->shutdown(/*failed=*/true, config.deadline);
    }
    return nullptr;
  }
  return backend;
}

Error NcclBackend::join(const BackendConfig &config) {
  // Without a launcher there is one rank.
  commsched_options options = *config.options;
  if (options.rank == -1 && options.num_ranks == -1 && !isLaunched()) {
    options.rank = 0;
    options.num_ranks = 1;
  }
  LaunchedRank launched;
  if (Error error = findLaunchedRank(options, launched))
    return error;
  address.rank = launched.rank;
  address.numRanks = launched.numRanks;
  if (Error error = readJobAddress(
          [](const char *name) { return std::getenv(name); }, address))
    return error;
  // The ranks meet first: a rank without a GPU can then notify the others.
  if (Error error = Bootstrap::join(
          address, [this] { return progress.write(); }, config.deadline,
          bootstrap))
    return error;
  if (Error error = openDevice(launched.localRank < 0 ? launched.rank
                                                      : launched.localRank))
    return error;
  return openWorld(config.deadline);
}

Error NcclBackend::openDevice(int32_t localRank) {
  int count = 0;
  if (Error error = checkCuda(cudaGetDeviceCount(&count), "cudaGetDeviceCount"))
    return "there is no GPU: " + *error;
  // NCCL takes several ranks on one GPU only if they claim to be on different
  // hosts.
  const char *host = std::getenv("NCCL_HOSTID");
  if (localRank >= count && !(host && *host && count > 0))
    return "rank " + std::to_string(address.rank) + " is number " +
           std::to_string(localRank) + " on this machine, which has " +
           std::to_string(count) + (count == 1 ? " GPU" : " GPUs");
  int device = localRank % count;
  int major = 0, minor = 0;
  Error error = checkCuda(cudaSetDevice(device), "cudaSetDevice");
  if (!error)
    error = checkCuda(cudaDeviceGetAttribute(
                          &major, cudaDevAttrComputeCapabilityMajor, device),
                      "cudaDeviceGetAttribute");
  if (!error)
    error = checkCuda(cudaDeviceGetAttribute(
                          &minor, cudaDevAttrComputeCapabilityMinor, device),
                      "cudaDeviceGetAttribute");
  capability = 10 * major + minor;
  if (!error)
    error = checkCuda(
        cudaStreamCreateWithFlags(&computeStream, cudaStreamNonBlocking),
        "cudaStreamCreateWithFlags");
  if (!error)
    error = checkCuda(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming),
                      "cudaEventCreateWithFlags");
  if (!error)
    error = checkCuda(cudaMalloc(&scratch, 1), "cudaMalloc");
  if (!error)
    error = checkCuda(cudaMemset(scratch, 0, 1), "cudaMemset");
  return error;
}

Error NcclBackend::openWorld(Deadline deadline) {
  // Groups of one GPU have streams of their own; with this, NCCL keeps the
  // order in which the host starts their collectives.
  setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", /*overwrite=*/0);
  ncclUniqueId id = {};
  std::string text;
  if (address.rank == 0) {
    if (Error error = checkNccl(ncclGetUniqueId(&id), "ncclGetUniqueId"))
      return error;
    text.assign(id.internal, sizeof(id.internal));
  }
  std::vector<std::string> all;
  if (Error error = bootstrap->exchange(text, all, deadline))
    return error;
  if (all[0].size() != sizeof(id.internal))
    return "rank 0 has no identifier of NCCL's communicator";
  std::memcpy(id.internal, all[0].data(), sizeof(id.internal));
  return communicators.init(
      address.rank, address.numRanks, id, watch(deadline, [this] {
        return "timed out after " + std::to_string(deadlineMs) +
               " ms while NCCL connects all ranks";
      }));
}

Error NcclBackend::exchange(const std::string &mine,
                            std::vector<std::string> &all, Deadline deadline) {
  if (Error error = flush())
    return error;
  return bootstrap->exchange(mine, all, deadline);
}

void NcclBackend::fail(const std::string &text) { bootstrap->fail(text); }

Error NcclBackend::checkSite(const Site &site) const {
  return nccl::checkSite(site, capability);
}

Error NcclBackend::checkHostCode(const std::string &where) const {
  return "'nccl' keeps buffers on the GPU, but " + where +
         " runs on the processor";
}

Error NcclBackend::createGroup(const Group &group, Deadline deadline) {
  progress.setGroups(group.index + 1);
  if (Error error = settle(deadline))
    return error;
  if (channels.size() <= static_cast<size_t>(group.index))
    channels.resize(group.index + 1);
  Channel &channel = channels[group.index];
  auto describe = [this, &group] {
    std::string text = "timed out after " + std::to_string(deadlineMs) +
                       " ms while NCCL connects its ranks";
    MissingRanks missing = findMissing(group.index, bootstrap->ask());
    if (Error failure = bootstrap->getFailure())
      return *failure;
    const char *separator = ": ";
    for (auto &[rank, what] : missing) {
      text += separator + ("rank " + std::to_string(rank)) + " " + what;
      separator = "; ";
    }
    return text;
  };
  if (Error error =
          communicators.split(group, watch(deadline, describe), channel.comm))
    return giveUp(error);
  if (!channel.comm)
    return std::nullopt;
  return checkCuda(
      cudaStreamCreateWithFlags(&channel.stream, cudaStreamNonBlocking),
      "cudaStreamCreateWithFlags");
}

Error NcclBackend::giveUp(Error error) {
  communicators.abort();
  putOff.clear();
  unsettled.clear();
  hasGivenUp = true;
  return error;
}

Error NcclBackend::shutdown(bool failed, Deadline deadline) {
  Error error;
  if (!failed) {
    error = waitForIdle(deadline);
    if (!error)
      error = communicators.finalize(watch(deadline, [this] {
        return "timed out after " + std::to_string(deadlineMs) +
               " ms while NCCL's ranks leave";
      }));
  }
  if (failed || error)
    giveUp(error);
  for (Channel &channel : channels)
    channel.states.clear();
  if (bootstrap)
    bootstrap->leave(failed || error, deadline);
  return error;
}

NcclBackend::~NcclBackend() {
  giveUp(std::nullopt);
  intervals.clear();
  stepBegin.reset();
  // Streams that still have work are destroyed when it is done.
  for (Channel &channel : channels)
    if (channel.stream)
      cudaStreamDestroy(channel.stream);
  channels.clear();
  if (scratch)
    cudaFree(scratch);
  if (ready)
    cudaEventDestroy(ready);
  if (computeStream)
    cudaStreamDestroy(computeStream);
}

Backend *commsched_create_backend(const BackendConfig *config,
                                  std::string *error) {
  Error failure;
  std::unique_ptr<Backend> backend = NcclBackend::create(*config, failure);
  if (failure)
    *error = *failure;
  return backend.release();
}

//===----------------------------------------------------------------------===//
// Waits of the host
//===----------------------------------------------------------------------===//

Deadline NcclBackend::getDeadline() const {
  return Clock::now() + std::chrono::milliseconds(deadlineMs);
}

/// Returns a function that pauses, or fails when there is nothing to wait for
/// any more.
KeepWaiting NcclBackend::watch(Deadline deadline, DescribeTimeout describe) {
  return [this, deadline, describe = std::move(describe),
          begin = Clock::now()]() -> Error {
    Error error = bootstrap->getFailure();
    if (!error && (error = communicators.check())) {
      // NCCL does not report which rank it has lost; rank 0 may know.
      bootstrap->ask();
      if (Error failure = bootstrap->getFailure())
        error = *failure + "; " + *error;
    }
    if (error) {
      const Launch *launch = findOldest();
      if (launch)
        error = "in the wait for " + describeLaunch(*launch) + ": " + *error;
      return error;
    }
    Deadline now = Clock::now();
    if (now >= deadline)
      return describe();
    // Short waits are for the GPU, long ones for other ranks.
    if (now - begin < std::chrono::microseconds(200))
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    return std::nullopt;
  };
}

/// The first launch that the GPU has not carried out; null if there is none.
const Launch *NcclBackend::findOldest() {
  const Launch *oldest = nullptr;
  for (Channel &channel : channels) {
    reportProgress(channel);
    if (channel.states.empty())
      continue;
    const Launch &launch = channel.states.front()->launch;
    if (!oldest || launch.record < oldest->record)
      oldest = &launch;
  }
  return oldest;
}

std::string NcclBackend::describeStuck() {
  const Launch *launch = findOldest();
  if (!launch)
    return "timed out after " + std::to_string(deadlineMs) +
           " ms in the wait for the GPU";
  MissingRanks missing = findMissing(*launch, bootstrap->ask());
  // A rank that has given up meanwhile has sent the reason.
  if (Error failure = bootstrap->getFailure())
    return "in the wait for " + describeLaunch(*launch) + ": " + *failure;
  return describeTimeout(*launch, deadlineMs, missing);
}

static Error isStreamIdle(cudaStream_t stream, bool &idle) {
  if (!stream)
    return std::nullopt;
  cudaError_t code = cudaStreamQuery(stream);
  if (code == cudaErrorNotReady) {
    idle = false;
    return std::nullopt;
  }
  return checkCuda(code, "cudaStreamQuery");
}

Error NcclBackend::isIdle(bool &idle) const {
  idle = true;
  if (Error error = isStreamIdle(computeStream, idle))
    return error;
  for (const Channel &channel : channels)
    if (Error error = isStreamIdle(channel.stream, idle))
      return error;
  return std::nullopt;
}

Error NcclBackend::waitForIdle(Deadline deadline) {
  if (Error error = flush())
    return error;
  if (Error error = settle(deadline))
    return error;
  KeepWaiting keepWaiting = watch(deadline, [this] { return describeStuck(); });
  while (true) {
    bool idle = false;
    if (Error error = isIdle(idle))
      return giveUp(error);
    if (idle)
      break;
    if (Error error = keepWaiting())
      return giveUp(error);
  }
  for (Channel &channel : channels)
    reportProgress(channel);
  return std::nullopt;
}

Error NcclBackend::synchronize(Deadline deadline) {
  return waitForIdle(deadline);
}

//===----------------------------------------------------------------------===//
// Steps and their times
//===----------------------------------------------------------------------===//

/// Records an event on the stream, but only within a step.
Error NcclBackend::recordStep(cudaStream_t stream, Event &event) {
  return stepBegin ? events.record(stream, event) : std::nullopt;
}

void NcclBackend::addInterval(commsched_record_kind kind, int32_t index,
                              Event begin, Event end) {
  if (stepBegin)
    intervals.push_back({kind, index, std::move(begin), std::move(end)});
}

Error NcclBackend::beginStep() {
  intervals.clear();
  stepBegin.reset();
  Deadline deadline = getDeadline();
  if (Error error = waitForIdle(deadline))
    return error;
  // The hosts have met, but not to the microsecond. This barrier also makes the
  // GPUs' clocks start together.
  ncclComm_t world = communicators.getWorld();
  if (Error error = enqueueBarrier({world, computeStream, scratch}))
    return giveUp(error);
  if (Error error = communicators.settle(
          world, watch(deadline, [this] { return describeStuck(); })))
    return giveUp(error);
  return events.record(computeStream, stepBegin);
}

Error NcclBackend::endStep(int64_t &stepNs, Deadline deadline) {
  if (Error error = flush())
    return error;
  if (Error error = settle(deadline))
    return error;
  // The step ends when all streams have come to their ends.
  for (Channel &channel : channels) {
    if (!channel.stream)
      continue;
    Event last;
    if (Error error = events.record(channel.stream, last))
      return error;
    if (Error error =
            checkCuda(cudaStreamWaitEvent(computeStream, last.get(), 0),
                      "cudaStreamWaitEvent"))
      return error;
  }
  Event stepEnd;
  if (Error error = events.record(computeStream, stepEnd))
    return error;
  if (Error error = waitForIdle(deadline))
    return error;

  Event begin = std::move(stepBegin);
  stepBegin.reset();
  std::vector<TimedInterval> list = std::move(intervals);
  intervals.clear();
  for (const TimedInterval &timed : list) {
    Interval interval;
    if (Error error = getElapsed(begin, timed.begin, interval.beginNs))
      return error;
    if (Error error = getElapsed(begin, timed.end, interval.endNs))
      return error;
    recorder.record(timed.kind, timed.index, interval);
  }
  return getElapsed(begin, stepEnd, stepNs);
}
