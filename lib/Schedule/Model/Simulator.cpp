//===- Simulator.cpp - When an order runs what ------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Simulator.h"

#include "CommSched/Schedule/Verify.h"
#include "RunState.h"

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

Result<Timeline> schedule::simulate(const Problem &problem,
                                    const Order &order) {
  Result<Positions> positions = invert(problem, order);
  if (!positions)
    return Error{positions.error()};

  Timeline timeline;
  timeline.beginNs.resize(order.size());
  timeline.endNs.resize(order.size());
  timeline.exposedNs.resize(order.size());
  Clocks clocks(problem);
  for (NodeId node : order) {
    NodeId start = problem.startOf(node);
    if (start != noNode && (*positions)[start] > (*positions)[node])
      return Error{problem.describe(node) + " at position " +
                   std::to_string((*positions)[node]) + " comes before its " +
                   problem.describe(start) + " at position " +
                   std::to_string((*positions)[start])};
    Clocks::Interval interval = clocks.issue(node);
    timeline.beginNs[node] = interval.beginNs;
    timeline.endNs[node] = interval.endNs;
    timeline.exposedNs[node] = interval.exposedNs;
    if (start != noNode)
      timeline.exposedNs[start] = interval.exposedNs;
    if (problem.isCollective(node))
      timeline.commNs += problem.costNs(node);
    else
      timeline.computeNs += problem.costNs(node);
  }
  // Every start has been waited for, so the other streams are idle too.
  timeline.stepNs = clocks.nowNs();
  timeline.exposedCommNs = timeline.stepNs - timeline.computeNs;
  return timeline;
}
