//===- ReferenceBestStep.h - Exhaustive search of the best step -*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The optimum for tests: tries all legal orders, whatever memory they take.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_SCHEDULE_REFERENCEBESTSTEP_H
#define COMMSCHED_UNITTESTS_SCHEDULE_REFERENCEBESTSTEP_H

#include "CommSched/Schedule/Model/Problem.h"

#include <algorithm>
#include <limits>

namespace mlir::commsched::schedule::testing {

/// Runs the operations of a problem in all orders that respect its
/// dependences, as the time model says, and leaves an order as soon as it is
/// no shorter than the best. For a dozen operations.
class ReferenceBestStep {
public:
  explicit ReferenceBestStep(const Problem &problem)
      : problem(problem), ends(problem.numNodes()) {
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      missing.push_back(problem.predecessors(node).size());
    extend(0, std::vector<int64_t>(problem.numStreams()));
  }

  int64_t stepNs = std::numeric_limits<int64_t>::max();
  Order order;

private:
  void extend(int64_t clock, const std::vector<int64_t> &streams) {
    if (clock >= stepNs)
      return;
    if (current.size() == missing.size()) {
      stepNs = clock;
      order = current;
      return;
    }
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      if (missing[node] == 0)
        take(node, clock, streams);
  }

  void take(NodeId node, int64_t clock, std::vector<int64_t> streams) {
    NodeKind kind = problem.kind(node);
    if (kind == NodeKind::Wait) {
      clock = std::max(clock, ends[problem.startOf(node)]);
    } else if (kind == NodeKind::Compute) {
      clock += problem.costNs(node);
    } else {
      int64_t &stream = streams[problem.stream(node)];
      stream = std::max(clock, stream) + problem.costNs(node);
      ends[node] = stream;
      if (kind == NodeKind::Blocking)
        clock = stream;
    }
    // One that is taken counts below zero and is not taken again.
    --missing[node];
    for (DependenceEnd end : problem.successors(node))
      --missing[end.node];
    current.push_back(node);
    extend(clock, streams);
    current.pop_back();
    for (DependenceEnd end : problem.successors(node))
      ++missing[end.node];
    ++missing[node];
  }

  const Problem &problem;
  std::vector<int64_t> ends;
  std::vector<int64_t> missing;
  Order current;
};

} // namespace mlir::commsched::schedule::testing

#endif // COMMSCHED_UNITTESTS_SCHEDULE_REFERENCEBESTSTEP_H
