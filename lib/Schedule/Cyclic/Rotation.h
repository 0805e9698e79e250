//===- Rotation.h - Rotation of periods -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moves operations from one period to the period before or after.
//
// Also moves computation that little depends on, such as gradients of weights,
// from before the stalls of a period into them. The circle through the first
// gather and the last reduction of a training step has such stalls: what else
// is ready there has been computed before.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_CYCLIC_ROTATION_H
#define COMMSCHED_LIB_SCHEDULE_CYCLIC_ROTATION_H

#include "CommSched/Schedule/Cyclic/CyclicProblem.h"
#include "CommSched/Schedule/Cyclic/Period.h"

#include <optional>

namespace mlir::commsched::schedule {

/// What comes after what in a program that repeats: the dependences of one
/// repetition, those that reach into later ones, that what uses a buffer comes
/// after what makes it, and that a collective is waited for before that of the
/// next repetition starts.
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

/// A collective that starts before a cut and is waited for behind it moves
/// whole to one side.
enum class CutCollectives : uint8_t {
  /// Those that acquire memory before the cut, the others behind it.
  ByMemory,
  /// All of them before the cut.
  Before,
};

/// Rotates periods of one problem.
class Rotation {
public:
  /// `graph` has to live on.
  explicit Rotation(const PeriodGraph &graph)
      : graph(graph), body(graph.body()) {}

  /// Returns the order in which the first `cut` operations of the period run at
  /// the end of the period before. It is legal if `schedule` is, whose
  /// collectives have the stage of their waits. None if the collectives cannot
  /// be moved, or nothing is left on one side.
  /// O(nodes + dependences).
  std::optional<CyclicOrder> rotate(const CyclicOrder &schedule, size_t cut,
                                    CutCollectives collectives) const;

  /// Returns the order in which each wait that stalls in `timeline`, and of
  /// which nothing in its period needs the result, is in the next period,
  /// directly before the first operation that needs it. None if there is no
  /// such wait. O(nodes + dependences).
  std::optional<CyclicOrder> sinkWaits(const CyclicOrder &schedule,
                                       const Timeline &timeline) const;

  /// Returns the order in which computation that takes no time and makes no
  /// buffer, such as a view or what is fused into its users, has the stage of
  /// the first operation that depends on it, directly before that: else its
  /// result would be carried from one period to the next. None if there is no
  /// such operation. O(nodes log nodes + dependences).
  std::optional<CyclicOrder> sinkFree(const CyclicOrder &schedule) const;

private:
  const PeriodGraph &graph;
  const Problem &body;
};

/// Returns the order in which computation runs in the largest stalls of
/// `timeline`, those of one period of `schedule` that are near each other. It
/// is taken from before them, from as near as possible but at least
/// `distanceNs` of computation away: what is near may be needed soon in the
/// next period. What depends on it moves behind the stalls. The order is legal
/// if `schedule` is. None if there are no stalls, or nothing can move into
/// them. O(nodes + dependences).
std::optional<CyclicOrder> fillPeriodStalls(const PeriodGraph &graph,
                                            const CyclicOrder &schedule,
                                            const Timeline &timeline,
                                            int64_t distanceNs);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_CYCLIC_ROTATION_H
