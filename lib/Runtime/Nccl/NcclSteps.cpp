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
  if (Status status = waitForIdle(deadline); !status)
    return status;
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
  if (Status status = flush(); !status)
    return status;
  if (Status status = settle(deadline); !status)
    return status;
  // The step ends when all streams have come to their ends.
  for (Channel &channel : channels) {
    if (!channel.stream)
      continue;
    Event last;
    if (Status status = events.record(channel.stream, last); !status)
      return status;
    if (Status status =
            checkCuda(cudaStreamWaitEvent(computeStream, last.get(), 0),
                      "cudaStreamWaitEvent");
        !status)
      return status;
  }
  Event stepEnd;
  if (Status status = events.record(computeStream, stepEnd); !status)
    return status;
  if (Status status = waitForIdle(deadline); !status)
    return status;

  Event begin = std::move(stepBegin);
  stepBegin.reset();
  std::vector<TimedInterval> list = std::move(intervals);
  intervals.clear();
  for (const TimedInterval &timed : list) {
    Interval interval;
    if (Status status = getElapsed(begin, timed.begin, interval.beginNs);
        !status)
      return status;
    if (Status status = getElapsed(begin, timed.end, interval.endNs); !status)
      return status;
    recorder.record(timed.kind, timed.index, interval);
  }
  return getElapsed(begin, stepEnd, stepNs);
}
