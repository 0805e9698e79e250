//===- MemoryTimeline.cpp - What an order keeps in memory -------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/MemoryTimeline.h"

#include "CommSched/Schedule/Verify.h"

#include <algorithm>

using namespace commsched;

Result<MemoryTimeline> commsched::simulateMemory(const Problem &problem,
                                                 const Order &order) {
  Result<Positions> inverse = invert(problem, order);
  if (!inverse)
    return Error{inverse.error()};
  const Positions &positions = *inverse;

  // First what each position allocates and frees, then running sums over both.
  // None overflows: the sum of all sizes is known to fit.
  MemoryTimeline timeline;
  std::vector<int64_t> &allocated = timeline.allocatedBytes;
  std::vector<int64_t> &remaining = timeline.remainingBytes;
  allocated.resize(order.size());
  remaining.resize(order.size());
  for (BufferId id = 0; id < problem.numBuffers(); ++id) {
    const Buffer &buffer = problem.buffer(id);
    int32_t last = -1;
    if (buffer.producer == noNode) {
      timeline.initialBytes += buffer.bytes;
    } else {
      last = positions[buffer.producer];
      allocated[last] += buffer.bytes;
    }
    if (!buffer.freed)
      continue;
    for (NodeId user : problem.users(id))
      last = std::max(last, positions[user]);
    if (last >= 0)
      remaining[last] += buffer.bytes;
  }

  int64_t live = timeline.initialBytes;
  timeline.peakBytes = live;
  for (int32_t position = 0; position < problem.numNodes(); ++position) {
    live += allocated[position];
    allocated[position] = live;
    if (position == 0 || live > timeline.peakBytes) {
      timeline.peakBytes = live;
      timeline.peakPosition = position;
    }
    live -= remaining[position];
    remaining[position] = live;
  }
  return timeline;
}
