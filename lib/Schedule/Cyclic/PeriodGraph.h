//===- PeriodGraph.h - Dependences within a period --------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What comes after what in a program that repeats: the dependences of one
// repetition, those that reach into later ones, that what uses a buffer comes
// after what makes it, and that a collective is waited for before that of the
// next repetition starts.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_CYCLIC_PERIODGRAPH_H
#define COMMSCHED_LIB_SCHEDULE_CYCLIC_PERIODGRAPH_H

#include "CommSched/Schedule/Cyclic/CyclicProblem.h"

namespace mlir::commsched::schedule {

class PeriodGraph {
public:
  /// One end of a dependence: `node` of the repetition that is `distance`
  /// later (or, if it is negative, earlier).
  struct End {
    NodeId node;
    int32_t distance;
  };

  /// `problem` has no error and has to live on. O(nodes + dependences + uses).
  explicit PeriodGraph(const CyclicProblem &problem);

  const CyclicProblem &getProblem() const { return problem; }
  const Problem &body() const { return problem.body(); }
  /// The dependences from and to a node.
  ArrayView<End> successors(NodeId node) const { return successorRows[node]; }
  ArrayView<End> predecessors(NodeId node) const {
    return predecessorRows[node];
  }

  /// Calls `visit` for those `ends` of dependences of `node` that are in the
  /// same period of `schedule`.
  template <typename Fn>
  static void forEachInPeriod(ArrayView<End> ends, NodeId node,
                              const CyclicOrder &schedule, Fn visit) {
    for (const End &end : ends)
      if (schedule.stages[node] == end.distance + schedule.stages[end.node])
        visit(end.node);
  }

private:
  const CyclicProblem &problem;
  Csr<End> successorRows;
  Csr<End> predecessorRows;
};

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_CYCLIC_PERIODGRAPH_H
