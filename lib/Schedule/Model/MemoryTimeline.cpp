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

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

/// Positions between which a buffer is live, both included.
struct Lifetime {
  /// Where it is allocated; -1: it is live from the start.
  int32_t first;
  /// Where it is freed; the number of operations if it stays.
  int32_t last;
};

} // namespace

static Lifetime getLifetime(const Problem &problem, const Positions &positions,
                            BufferId id) {
  const Buffer &buffer = problem.buffer(id);
  int32_t first = buffer.producer == noNode ? -1 : positions[buffer.producer];
  int32_t last = first;
  for (NodeId user : problem.users(id))
    last = std::max(last, positions[user]);
  return {first, buffer.freed && last >= 0 ? last : problem.numNodes()};
}

Result<MemoryTimeline> schedule::simulateMemory(const Problem &problem,
                                                const Order &order) {
  Result<Positions> positions = invert(problem, order);
  if (!positions)
    return Error{positions.error()};

  // First what each position allocates and frees, then running sums over both.
  // None overflows: the sum of all sizes is known to fit.
  MemoryTimeline timeline;
  std::vector<int64_t> &allocated = timeline.allocatedBytes;
  std::vector<int64_t> &remaining = timeline.remainingBytes;
  allocated.resize(order.size());
  remaining.resize(order.size());
  for (BufferId id = 0; id < problem.numBuffers(); ++id) {
    int64_t bytes = problem.buffer(id).bytes;
    Lifetime lifetime = getLifetime(problem, *positions, id);
    (lifetime.first < 0 ? timeline.initialBytes : allocated[lifetime.first]) +=
        bytes;
    if (lifetime.last < problem.numNodes())
      remaining[lifetime.last] += bytes;
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

Result<std::vector<BufferId>> schedule::findLive(const Problem &problem,
                                                 const Order &order,
                                                 int32_t position) {
  Result<Positions> positions = invert(problem, order);
  if (!positions)
    return Error{positions.error()};
  if (position < -1 || position >= problem.numNodes())
    return Error{"there is no position " + std::to_string(position) +
                 " in an order of " + std::to_string(problem.numNodes()) +
                 " nodes"};
  std::vector<BufferId> live;
  for (BufferId id = 0; id < problem.numBuffers(); ++id) {
    Lifetime lifetime = getLifetime(problem, *positions, id);
    if (lifetime.first <= position && position <= lifetime.last)
      live.push_back(id);
  }
  return live;
}
