//===- StepMemory.cpp - The memory of a simulated step --------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepMemory.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::BufferId;
using schedule::MemoryTimeline;
using schedule::NodeId;
using schedule::NodeKind;
using schedule::noNode;
using schedule::Problem;
using schedule::Timeline;

/// Fills in the live bytes over time. An operation allocates when it issues.
static void addSamples(StepReport &report, const Problem &problem,
                       const Timeline &timeline, const MemoryTimeline &memory) {
  report.memory.push_back({0, memory.initialBytes});
  int64_t now = 0;
  auto add = [&](int64_t timeNs, int64_t bytes) {
    if (report.memory.back().bytes == bytes)
      return;
    if (report.memory.back().timeNs == timeNs &&
        report.memory.back().bytes < bytes)
      report.memory.back().bytes = bytes;
    else
      report.memory.push_back({timeNs, bytes});
  };
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    add(now, memory.allocatedBytes[node]);
    // A start lets the compute stream go on at once.
    if (problem.kind(node) != NodeKind::Start)
      now = timeline.endNs[node];
    add(now, memory.remainingBytes[node]);
  }
}

/// Fills in the largest of what is live at the peak.
static void addPeakValues(StepReport &report, const Problem &problem,
                          ArrayRef<BufferId> live,
                          function_ref<std::string(BufferId)> getName) {
  SmallVector<BufferId> largest;
  llvm::copy_if(live, std::back_inserter(largest),
                [&](BufferId id) { return problem.buffer(id).bytes > 0; });
  size_t count = std::min(largest.size(), StepReport::maxPeakValues);
  std::partial_sort(largest.begin(), largest.begin() + count, largest.end(),
                    [&](BufferId a, BufferId b) {
                      return std::make_pair(-problem.buffer(a).bytes, a) <
                             std::make_pair(-problem.buffer(b).bytes, b);
                    });
  largest.resize(count);
  for (BufferId id : largest) {
    const schedule::Buffer &buffer = problem.buffer(id);
    LiveValue &value = report.peakValues.emplace_back();
    value.name = getName(id);
    value.bytes = buffer.bytes;
    if (buffer.producer != noNode)
      value.producer = buffer.producer;
  }
}

void mlir::commsched::addMemory(StepReport &report, const Problem &problem,
                                const Timeline &timeline,
                                const MemoryTimeline &memory,
                                function_ref<std::string(BufferId)> getName) {
  report.peakMemoryBytes = memory.peakBytes;
  report.peakPosition = memory.peakPosition;
  addSamples(report, problem, timeline, memory);
  // It accepts what simulateMemory() accepts.
  addPeakValues(report, problem,
                *findLive(problem, problem.programOrder(), memory.peakPosition),
                getName);
}
