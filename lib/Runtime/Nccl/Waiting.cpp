//===- Waiting.cpp - Waits of the host, with an eye on the others ---------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Describe.h"
#include "Nccl/NcclBackend.h"

#include <thread>

using namespace commsched::runtime;
using namespace commsched::runtime::nccl;

Deadline NcclBackend::getDeadline() const {
  return Clock::now() + std::chrono::milliseconds(deadlineMs);
}

/// A function that pauses, or says why there is nothing to wait for any more.
KeepWaiting NcclBackend::watch(Deadline deadline, DescribeTimeout describe) {
  return [this, deadline, describe = std::move(describe),
          begin = Clock::now()]() -> Error {
    Error error = bootstrap->getFailure();
    if (!error && (error = communicators.check())) {
      // NCCL does not say which rank it has lost; rank 0 may know.
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
    if (channel.flights.empty())
      continue;
    const Launch &launch = channel.flights.front()->launch;
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
  // Who has given up meanwhile says why.
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
