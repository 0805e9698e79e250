//===- Steps.cpp - Times by CUDA events -----------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Nccl/NcclBackend.h"

using namespace commsched::runtime;
using namespace commsched::runtime::nccl;

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
