//===- LowerBound.cpp - What no order can beat ------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/LowerBound.h"

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

/// The longest chain over the dependences.
///
/// How much of an operation lies on a chain that leaves it depends on when its
/// successors may issue. A Compute and a Blocking hold the compute stream, so
/// whatever comes later in the order begins after their end: all of their cost
/// lies on every edge. A Start holds it not at all: the next operation issues
/// at the same instant, whatever the reason is that keeps the two in this
/// order. Only its Wait lasts until the collective has ended, so its cost lies
/// on that edge alone. (That a stream runs its collectives one after another is
/// the stream's bound, not a dependence.)
static int64_t computeCriticalPath(const Problem &problem) {
  // By operation: the earliest time at which it can issue.
  std::vector<int64_t> ready(problem.numNodes());
  int64_t longest = 0;
  for (NodeId node : problem.topologicalOrder()) {
    int64_t end = ready[node] + problem.costNs(node);
    longest = std::max(longest, end);
    bool isStart = problem.kind(node) == NodeKind::Start;
    for (DependenceEnd successor : problem.successors(node)) {
      bool carriesCost = !isStart || successor.node == problem.waitOf(node);
      int64_t arrival = carriesCost ? end : ready[node];
      ready[successor.node] = std::max(ready[successor.node], arrival);
    }
  }
  return longest;
}

Result<LowerBound> schedule::computeLowerBound(const Problem &problem) {
  if (problem.check())
    return Error{*problem.check()};
  LowerBound bound;
  std::vector<int64_t> streamSum(problem.numStreams());
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    if (problem.kind(node) == NodeKind::Compute)
      bound.computeNs += problem.costNs(node);
    else if (problem.isCollective(node))
      streamSum[problem.stream(node)] += problem.costNs(node);
  }
  if (!streamSum.empty()) {
    auto busiest = std::max_element(streamSum.begin(), streamSum.end());
    bound.streamNs = *busiest;
    bound.busiestStream = static_cast<StreamId>(busiest - streamSum.begin());
  }
  bound.criticalPathNs = computeCriticalPath(problem);
  return bound;
}
