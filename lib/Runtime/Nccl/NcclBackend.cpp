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
#include "Nccl/Kernels.h"
#include "Nccl/NcclImplementations.h"

#include <cstdlib>
#include <cstring>
#include <thread>
#include <unistd.h>

using namespace commsched::runtime;
using namespace commsched::runtime::nccl;

//===----------------------------------------------------------------------===//
// Starting and stopping
//===----------------------------------------------------------------------===//

NcclBackend::NcclBackend(const BackendConfig &config)
    : recorder(*config.recorder), deadlineMs(config.options->deadline_ms),
      emulatesData(config.options->emulate_data != 0) {}

std::unique_ptr<Backend> NcclBackend::create(const BackendConfig &config,
                                             Status &status) {
  if (config.version != backendVersion) {
    status = "'nccl' has version " + std::to_string(backendVersion) +
             " of the runtime, but the program has " +
             std::to_string(config.version);
    return nullptr;
  }
  if (config.options->modelled_times) {
    status = "'nccl' measures times and cannot model them";
    return nullptr;
  }
  std::unique_ptr<NcclBackend> backend(new NcclBackend(config));
  status = backend->join(config);
  if (!status) {
    if (backend->bootstrap) {
      backend->fail(status.getMessage());
      backend->shutdown(/*failed=*/true, config.deadline);
    }
    return nullptr;
  }
  return backend;
}

Status NcclBackend::join(const BackendConfig &config) {
  // Without a launcher there is one rank.
  commsched_options options = *config.options;
  if (options.rank == -1 && options.num_ranks == -1 && !isLaunched()) {
    options.rank = 0;
    options.num_ranks = 1;
  }
  LaunchedRank launched;
  COMMSCHED_TRY(findLaunchedRank(options, launched));
  place.rank = launched.rank;
  place.numRanks = launched.numRanks;
  COMMSCHED_TRY(
      readJobPlace([](const char *name) { return std::getenv(name); }, place));
  // The ranks meet first: a rank without a GPU can then notify the others.
  COMMSCHED_TRY(Bootstrap::join(
      place, [this] { return progress.write(); }, config.deadline, bootstrap));
  COMMSCHED_TRY(
      openDevice(launched.localRank < 0 ? launched.rank : launched.localRank));
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
    return "rank " + std::to_string(place.rank) + " is number " +
           std::to_string(localRank) + " on this machine, which has " +
           std::to_string(count) + (count == 1 ? " GPU" : " GPUs");
  int device = localRank % count;
  int major = 0, minor = 0;
  COMMSCHED_TRY(CALL_CUDA(cudaSetDevice, device));
  COMMSCHED_TRY(CALL_CUDA(cudaDeviceGetAttribute, &major,
                          cudaDevAttrComputeCapabilityMajor, device));
  COMMSCHED_TRY(CALL_CUDA(cudaDeviceGetAttribute, &minor,
                          cudaDevAttrComputeCapabilityMinor, device));
  capability = 10 * major + minor;
  COMMSCHED_TRY(CALL_CUDA(cudaStreamCreateWithFlags, &computeStream,
                          cudaStreamNonBlocking));
  // CUDA loads a kernel when it is first launched, which takes longer than many
  // operators.
  COMMSCHED_TRY(
      checkCuda(launchSpin(0, computeStream), "the kernel of compute"));
  COMMSCHED_TRY(
      CALL_CUDA(cudaEventCreateWithFlags, &ready, cudaEventDisableTiming));
  COMMSCHED_TRY(CALL_CUDA(cudaMalloc, &scratch, 1));
  return CALL_CUDA(cudaMemsetAsync, scratch, 0, 1, computeStream);
}

Status NcclBackend::openWorld(Deadline deadline) {
  // Groups of one GPU have streams of their own; with this, NCCL keeps the
  // order in which the host starts their collectives.
  setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", /*overwrite=*/0);
  // Where GPUs do not reach each other's memory, NCCL then has no windows;
  // otherwise it registers buffers for other purposes, which this backend does
  // not need, and calls that windows.
  setenv("NCCL_LOCAL_REGISTER", "0", /*overwrite=*/0);
  COMMSCHED_TRY(CALL_NCCL(nullptr, ncclGetVersion, &ncclVersion));
  ncclUniqueId id = {};
  std::string text;
  if (place.rank == 0) {
    COMMSCHED_TRY(CALL_NCCL(nullptr, ncclGetUniqueId, &id));
    text.assign(id.internal, sizeof(id.internal));
  }
  std::vector<std::string> all;
  COMMSCHED_TRY(bootstrap->exchange(text, all, deadline));
  if (all[0].size() != sizeof(id.internal))
    return "rank 0 has no identifier of NCCL's communicator";
  std::memcpy(id.internal, all[0].data(), sizeof(id.internal));
  return communicators.init(
      place.rank, place.numRanks, id, watch(deadline, [this] {
        return "timed out after " + std::to_string(deadlineMs) +
               " ms while NCCL connects all ranks";
      }));
}

Status NcclBackend::exchange(const std::string &mine,
                             std::vector<std::string> &all, Deadline deadline) {
  COMMSCHED_TRY(flush());
  return bootstrap->exchange(mine, all, deadline);
}

void NcclBackend::fail(const std::string &text) { bootstrap->fail(text); }

Status NcclBackend::checkSite(const Site &site) const {
  return nccl::checkSite(site, capability);
}

Status NcclBackend::checkImplementation(const Implementation &implementation,
                                        const Site &site) const {
  return nccl::checkImplementation(implementation, site, ncclVersion);
}

Status NcclBackend::checkHostCode(const std::string &where) const {
  return "'nccl' keeps buffers on the GPU, but " + where +
         " runs on the processor";
}

Status NcclBackend::createGroup(const Group &group, Deadline deadline) {
  progress.setGroups(group.index + 1);
  COMMSCHED_TRY(settle(deadline));
  size_t number = group.index - Group::d2hIndex;
  if (channels.size() <= number)
    channels.resize(number + 1);
  if (group.implementation && needsWindow(*group.implementation))
    COMMSCHED_TRY(checkNodes(group, deadline));
  Channel &channel = getChannel(group);
  auto describe = [this, &group] {
    RankStates missing = findMissing(group.index, bootstrap->ask());
    if (Status status = bootstrap->getFailure(); !status)
      return status.getMessage();
    return "timed out after " + std::to_string(deadlineMs) +
           " ms while NCCL connects its ranks" +
           (missing.empty() ? "" : ": " + describeRanks(missing));
  };
  if (Status status =
          communicators.split(group, watch(deadline, describe), channel.comm);
      !status)
    return giveUp(status);
  if (!channel.comm)
    return Status();
  channel.ownsStream = group.stream == group.index;
  if (!channel.ownsStream) {
    channel.stream = channels[group.stream - Group::d2hIndex].stream;
    return Status();
  }
  return CALL_CUDA(cudaStreamCreateWithFlags, &channel.stream,
                   cudaStreamNonBlocking);
}

/// A call of all ranks.
Status NcclBackend::checkNodes(const Group &group, Deadline deadline) {
  // As NCCL tells nodes apart.
  char name[256] = "";
  const char *given = std::getenv("NCCL_HOSTID");
  if (given && *given)
    std::strncpy(name, given, sizeof(name) - 1);
  else
    gethostname(name, sizeof(name) - 1);
  std::vector<std::string> nodes;
  COMMSCHED_TRY(exchange(name, nodes, deadline));
  return nccl::checkNodes(group, nodes);
}

Status NcclBackend::prepareGroup(const Group &group,
                                 const std::vector<const Site *> &sites,
                                 Deadline deadline) {
  Channel &channel = getChannel(group);
  if (!needsWindow(*group.implementation) || !channel.comm)
    return Status();
  int64_t bytes = getWindowBytes(sites);
  if (bytes <= channel.window.bytes)
    return Status();
  COMMSCHED_TRY(waitForIdle(deadline));
  COMMSCHED_TRY(closeWindow(channel));
  COMMSCHED_TRY(openWindow(channel, bytes, deadline));
  if (channel.window.handle)
    return Status();
  // For one rank, NCCL registers nothing and copies.
  if (group.members.size() == 1)
    return closeWindow(channel);
  return std::string(
      "NCCL registers no memory for it: the GPUs of its ranks do not reach "
      "each other's memory, or NCCL_CUMEM_ENABLE or NCCL_WIN_ENABLE is 0");
}

Status NcclBackend::openWindow(Channel &channel, int64_t bytes,
                               Deadline deadline) {
  Window &window = channel.window;
  Status status;
  window.buffer = memory.allocateWindow(bytes, status);
  if (!status)
    return "no window of " + std::to_string(bytes) +
           " bytes: " + status.getMessage();
  status = communicators.registerWindow(
      channel.comm, window.buffer, bytes,
      watch(deadline,
            [this] {
              return "timed out after " + std::to_string(deadlineMs) +
                     " ms while NCCL registers memory of all its ranks";
            }),
      window.handle);
  if (!status)
    return giveUp(status);
  window.bytes = window.handle ? bytes : 0;
  return Status();
}

Status NcclBackend::closeWindow(Channel &channel) {
  Window window = std::exchange(channel.window, {});
  Status status;
  if (window.handle)
    status = CALL_NCCL(channel.comm, ncclCommWindowDeregister, channel.comm,
                       window.handle);
  if (window.buffer)
    memory.release(window.buffer);
  return status;
}

Status NcclBackend::giveUp(Status status) {
  communicators.abort();
  putOff.clear();
  unsettled.clear();
  hasGivenUp = true;
  return status;
}

Status NcclBackend::shutdown(bool failed, Deadline deadline) {
  Status status;
  if (!failed) {
    status = waitForIdle(deadline);
    for (Channel &channel : channels)
      if (status)
        status = closeWindow(channel);
    if (status)
      status = communicators.finalize(watch(deadline, [this] {
        return "timed out after " + std::to_string(deadlineMs) +
               " ms while NCCL's ranks leave";
      }));
  }
  if (failed || !status)
    giveUp(status);
  for (Channel &channel : channels)
    channel.states.clear();
  if (bootstrap)
    bootstrap->leave(failed || !status, deadline);
  return status;
}

NcclBackend::~NcclBackend() {
  giveUp(Status());
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
  Status status;
  std::unique_ptr<Backend> backend = NcclBackend::create(*config, status);
  if (!status)
    *error = status.getMessage();
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
          begin = Clock::now()]() -> Status {
    Status status = bootstrap->getFailure();
    if (status) {
      status = communicators.check();
      // NCCL does not report which rank it has lost; rank 0 may know.
      if (!status) {
        bootstrap->ask();
        if (Status failure = bootstrap->getFailure(); !failure)
          status = failure.getMessage() + "; " + status.getMessage();
      }
    }
    if (!status) {
      const Launch *launch = findOldest();
      if (launch)
        status = "in the wait for " + describeLaunch(*launch) + ": " +
                 status.getMessage();
      return status;
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
    return "timed out after " + std::to_string(deadlineMs) +
           " ms in the wait for the GPU";
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
  KeepWaiting keepWaiting = watch(deadline, [this] { return describeStuck(); });
  while (true) {
    bool done = false;
    if (Status status = isDone(done); !status)
      return giveUp(status);
    if (done)
      return Status();
    if (Status status = keepWaiting(); !status)
      return giveUp(status);
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

Status NcclBackend::synchronize(Deadline deadline) {
  return waitForIdle(deadline);
}
