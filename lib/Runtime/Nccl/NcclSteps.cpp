//===- NcclSteps.cpp - The times of steps on the GPU ----------------------===//
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
Status NcclBackend::recordStep(cudaStream_t stream, Event &event) {
  return stepBegin ? events.record(stream, event) : Status();
}

void NcclBackend::addInterval(commsched_record_kind kind, int32_t index,
                              Event begin, Event end) {
  if (stepBegin)
    intervals.push_back({kind, index, std::move(begin), std::move(end)});
}

Status NcclBackend::beginStep() {
  intervals.clear();
  stepBegin.reset();
  Deadline deadline = getDeadline();
  COMMSCHED_TRY(waitForIdle(deadline));
  // The hosts have met, but not to the microsecond. This barrier also makes the
  // GPUs' clocks start together.
  ncclComm_t world = communicators.getWorld();
  if (Status status = enqueueBarrier({world, computeStream, scratch}); !status)
    return giveUp(status);
  if (Status status = communicators.settle(
          world, watch(deadline, [this] { return describeStuck(); }));
      !status)
    return giveUp(status);
  return events.record(computeStream, stepBegin);
}

Status NcclBackend::endStep(int64_t &stepNs, Deadline deadline) {
  COMMSCHED_TRY(flush());
  COMMSCHED_TRY(settle(deadline));
  // The step ends when all streams have come to their ends.
  for (Channel &channel : channels) {
    if (!channel.stream)
      continue;
    Event last;
    COMMSCHED_TRY(events.record(channel.stream, last));
    COMMSCHED_TRY(CALL_CUDA(cudaStreamWaitEvent, computeStream, last.get(), 0));
  }
  Event stepEnd;
  COMMSCHED_TRY(events.record(computeStream, stepEnd));
  COMMSCHED_TRY(waitForIdle(deadline));

  Event begin = std::move(stepBegin);
  stepBegin.reset();
  std::vector<TimedInterval> list = std::move(intervals);
  intervals.clear();
  for (const TimedInterval &timed : list) {
    Interval interval;
    COMMSCHED_TRY(getElapsed(begin, timed.begin, interval.beginNs));
    COMMSCHED_TRY(getElapsed(begin, timed.end, interval.endNs));
    recorder.record(timed.kind, timed.index, interval);
  }
  return getElapsed(begin, stepEnd, stepNs);
}
