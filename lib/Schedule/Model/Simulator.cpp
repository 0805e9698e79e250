//===- Simulator.cpp - When an order runs what ------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Simulator.h"

#include "CommSched/Schedule/Verify.h"

#include <algorithm>

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
  std::vector<int64_t> streamClock(problem.numStreams());
  int64_t clock = 0;
  // No sum here overflows: none exceeds the sum of all costs, and that one is
  // known to fit.
  for (NodeId node : order) {
    int64_t cost = problem.costNs(node);
    int64_t begin = clock;
    int64_t end = clock + cost;
    switch (problem.kind(node)) {
    case NodeKind::Compute:
      clock = end;
      timeline.computeNs += cost;
      break;
    case NodeKind::Start: {
      int64_t &streamFree = streamClock[problem.stream(node)];
      begin = std::max(clock, streamFree);
      end = streamFree = begin + cost;
      timeline.commNs += cost;
      break;
    }
    case NodeKind::Wait: {
      NodeId start = problem.startOf(node);
      if ((*positions)[start] > (*positions)[node])
        return Error{problem.describe(node) + " at position " +
                     std::to_string((*positions)[node]) + " comes before its " +
                     problem.describe(start) + " at position " +
                     std::to_string((*positions)[start])};
      end = std::max(clock, timeline.endNs[start]);
      timeline.exposedNs[node] = timeline.exposedNs[start] = end - clock;
      clock = end;
      break;
    }
    case NodeKind::Blocking: {
      int64_t &streamFree = streamClock[problem.stream(node)];
      begin = std::max(clock, streamFree);
      end = begin + cost;
      timeline.exposedNs[node] = end - clock;
      clock = streamFree = end;
      timeline.commNs += cost;
      break;
    }
    }
    timeline.beginNs[node] = begin;
    timeline.endNs[node] = end;
  }
  // Every start has been waited for, so the other streams are idle too.
  timeline.stepNs = clock;
  timeline.exposedCommNs = timeline.stepNs - timeline.computeNs;
  return timeline;
}
