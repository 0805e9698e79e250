//===- NcclBackend.cpp - Collectives on NVIDIA GPUs -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Nccl/NcclBackend.h"

#include "Core/Launcher.h"
#include "Core/Program.h"
#include "Nccl/Kernels.h"

#include <cstdlib>
#include <thread>

using namespace commsched::runtime;
using namespace commsched::runtime::nccl;

//===----------------------------------------------------------------------===//
// Starting and stopping
//===----------------------------------------------------------------------===//

NcclBackend::NcclBackend(const BackendConfig &config)
    : recorder(*config.recorder), deadlineMs(config.options->deadline_ms),
      emulatesData(config.options->emulate_data != 0) {}

Status NcclBackend::join(const BackendConfig &config) {
  if (config.options->modelled_times)
    return "'nccl' measures times and cannot model them";
  commsched_launcher launched;
  COMMSCHED_TRY(findLaunchedRank(*config.options, launched));
  place.rank = launched.rank;
  place.numRanks = launched.num_ranks;
  COMMSCHED_TRY(
      readJobPlace([](const char *name) { return std::getenv(name); }, place));
  // The ranks meet first: a rank without a GPU can then notify the others.
  COMMSCHED_TRY(Bootstrap::join(
      place, [this] { return progress.write(); }, config.deadline, bootstrap));
  COMMSCHED_TRY(openDevice(launched.local_rank < 0 ? launched.rank
                                                   : launched.local_rank));
  return openWorld(config.deadline);
}

Status NcclBackend::openDevice(int32_t localRank) {
  int count = 0;
  if (Status status = CALL_CUDA(cudaGetDeviceCount, &count); !status)
    return "there is no GPU: " + status.getMessage();
  // NCCL takes several ranks on one GPU only if they claim to be on different
  // hosts.
  const char *host = std::getenv("NCCL_HOSTID");
  if (localRank >= count && !(host && *host && count > 0))
    return concat("rank ", place.rank, " is number ", localRank,
                  " on this machine, which has ", count,
                  count == 1 ? " GPU" : " GPUs");
  int device = localRank % count;
  int major = 0, minor = 0;
  COMMSCHED_TRY(CALL_CUDA(cudaSetDevice, device));
  COMMSCHED_TRY(CALL_CUDA(cudaDeviceGetAttribute, &major,
                          cudaDevAttrComputeCapabilityMajor, device));
  COMMSCHED_TRY(CALL_CUDA(cudaDeviceGetAttribute, &minor,
                          cudaDevAttrComputeCapabilityMinor, device));
  capability = 10 * major + minor;
  COMMSCHED_TRY(createStream(computeStream));
  // CUDA loads a kernel when it is first launched, which takes longer than many
  // operators.
  COMMSCHED_TRY(
      checkCuda(launchSpin(0, computeStream), "the kernel of compute"));
  COMMSCHED_TRY(
      CALL_CUDA(cudaEventCreateWithFlags, &ready, cudaEventDisableTiming));
  COMMSCHED_TRY(CALL_CUDA(cudaMalloc, &scratch, 1));
  return CALL_CUDA(cudaMemsetAsync, scratch, 0, 1, computeStream);
}

Status NcclBackend::exchange(const std::string &mine,
                             std::vector<std::string> &all, Deadline deadline) {
  COMMSCHED_TRY(flush());
  return bootstrap->exchange(mine, all, deadline);
}

Status NcclBackend::checkHostCode(const std::string &where) const {
  return "'nccl' keeps buffers on the GPU, but " + where +
         " runs on the processor";
}

void NcclBackend::stop(const std::string &text, Deadline deadline) {
  if (!bootstrap)
    return;
  fail(text);
  shutdown(/*failed=*/true, deadline);
}

Status NcclBackend::shutdown(bool failed, Deadline deadline) {
  Status status;
  if (!failed) {
    status = waitForIdle(deadline);
    for (Channel &channel : channels)
      if (status)
        status = closeWindow(channel);
    if (status)
      status = leaveCommunicators(deadline);
  }
  if (failed || !status)
    giveUp();
  for (Channel &channel : channels)
    channel.states.clear();
  if (bootstrap)
    bootstrap->leave(failed || !status, deadline);
  return status;
}

NcclBackend::~NcclBackend() {
  giveUp();
  intervals.clear();
  stepBegin.reset();
  // Buffers first: to release one is to ask all streams whether they are idle.
  for (Channel &channel : channels)
    if (channel.window.buffer)
      release(channel.window.buffer);
  // Streams that still have work are destroyed when it is done.
  for (Channel &channel : channels)
    if (channel.stream && channel.ownsStream)
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
  if (config->version != backendVersion) {
    *error = concat("'nccl' has version ", backendVersion,
                    " of the runtime, but the program has ", config->version);
    return nullptr;
  }
  auto backend = std::make_unique<NcclBackend>(*config);
  Status status = backend->join(*config);
  if (status)
    return backend.release();
  *error = status.getMessage();
  backend->stop(*error, config->deadline);
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Waits of the host
//===----------------------------------------------------------------------===//

Deadline NcclBackend::getDeadline() const {
  return Clock::now() + std::chrono::milliseconds(deadlineMs);
}

KeepWaiting NcclBackend::watch(Deadline deadline, const char *what) {
  return watch(deadline, [=] { return describeTimeout(what, deadlineMs, {}); });
}

KeepWaiting NcclBackend::watch(Deadline deadline, DescribeTimeout describe) {
  return [this, deadline, describe = std::move(describe),
          begin = Clock::now()]() -> Status {
    Status status = bootstrap->getFailure();
    if (status) {
      status = checkCommunicators();
      // NCCL does not report which rank it has lost; rank 0 may know.
      if (!status) {
        bootstrap->ask();
        if (Status failure = bootstrap->getFailure(); !failure)
          status = failure.getMessage() + "; " + status.getMessage();
      }
    }
    if (!status) {
      const Launch *launch = findOldest();
      return launch
                 ? within("in the wait for " + describeLaunch(*launch), status)
                 : status;
    }
    Deadline now = Clock::now();
    if (now >= deadline)
      return describe();
    // Short waits are for the GPU, long ones for other ranks.
    if (now - begin < std::chrono::microseconds(200))
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    return Status();
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
    return describeTimeout("in the wait for the GPU", deadlineMs, {});
  RankStates missing = findMissing(*launch, bootstrap->ask());
  // A rank that has given up meanwhile has sent the reason.
  if (Status status = bootstrap->getFailure(); !status)
    return "in the wait for " + describeLaunch(*launch) + ": " +
           status.getMessage();
  return describeTimeout(*launch, deadlineMs, missing);
}

static Status isStreamIdle(cudaStream_t stream, bool &idle) {
  if (!stream)
    return Status();
  cudaError_t code = cudaStreamQuery(stream);
  if (code == cudaErrorNotReady) {
    idle = false;
    return Status();
  }
  return checkCuda(code, "cudaStreamQuery");
}

Status NcclBackend::isIdle(bool &idle) const {
  idle = true;
  COMMSCHED_TRY(isStreamIdle(computeStream, idle));
  for (const Channel &channel : channels)
    COMMSCHED_TRY(isStreamIdle(channel.stream, idle));
  return Status();
}

Status NcclBackend::waitUntil(const std::function<Status(bool &)> &isDone,
                              Deadline deadline) {
  COMMSCHED_TRY(flush());
  COMMSCHED_TRY(settle(deadline));
  KeepWaiting keepWaiting = watch(deadline);
  while (true) {
    bool done = false;
    COMMSCHED_TRY(orGiveUp(isDone(done)));
    if (done)
      return Status();
    COMMSCHED_TRY(orGiveUp(keepWaiting()));
  }
}

Status NcclBackend::waitForIdle(Deadline deadline) {
  COMMSCHED_TRY(
      waitUntil([this](bool &idle) { return isIdle(idle); }, deadline));
  for (Channel &channel : channels)
    reportProgress(channel);
  return Status();
}

Status NcclBackend::read(void *host, const void *buffer, int64_t bytes) {
  auto isDone = [this](bool &done) {
    done = true;
    return isStreamIdle(computeStream, done);
  };
  COMMSCHED_TRY(waitUntil(isDone, getDeadline()));
  // On the stream, which no other stream delays.
  COMMSCHED_TRY(CALL_CUDA(cudaMemcpyAsync, host, buffer, bytes,
                          cudaMemcpyDeviceToHost, computeStream));
  return CALL_CUDA(cudaStreamSynchronize, computeStream);
}
