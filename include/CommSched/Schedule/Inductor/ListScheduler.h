//===- ListScheduler.h - List scheduling by scores --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The list scheduler that raises collectives, sinks waits and runs computation
// beside collectives: of all operations whose predecessors have run, it takes
// the one with the best score.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_INDUCTOR_LISTSCHEDULER_H
#define COMMSCHED_SCHEDULE_INDUCTOR_LISTSCHEDULER_H

#include "CommSched/Schedule/Model/Verify.h"

namespace mlir::commsched::schedule {

/// Objectives of the list scheduler. Without any, it keeps the order of the
/// program.
struct ListSchedulerOptions {
  /// Run what leads to a collective before everything else, in the order of
  /// the collectives.
  bool raiseComms = false;
  /// Run waits after everything else that is ready. Weaker than raiseComms.
  bool sinkWaits = false;
  /// After each collective, run ready compute until it covers its cost.
  bool reorderForOverlap = false;
};

/// Orders a problem by the scores of `_schedule_for_comm` in PyTorch
/// Inductor's comms.py, with the same result on the same graph.
///
/// An operation's score is a tuple, smaller is earlier:
///   1. with raiseComms, the smallest index (in program order) of a collective
///      that it is or leads to; else a value above all of them,
///   2. with sinkWaits, 1 for a wait and 0 for the rest,
///   3. its place in the program.
/// The operation with the smallest score among the ready ones is next. With
/// reorderForOverlap, a collective that is next is followed by ready operations
/// that are neither collective nor wait, best score first and newly ready ones
/// included, while the sum of their costs is below the collective's cost. As in
/// the reference this holds for a Blocking too, which no computation runs
/// beside.
///
/// The scheduler ignores memory and the order of collectives on a stream;
/// callers fix the latter by dependences (addCollectiveOrder()).
class ListScheduler {
public:
  explicit ListScheduler(ListSchedulerOptions options) : options(options) {}

  /// The order, verified. Error: the problem's own. O((nodes + dependences) +
  /// nodes * log(nodes)).
  Result<Order> run(const Problem &problem) const;

private:
  ListSchedulerOptions options;
};

// Dependences that hold a node in its place, for the remarks on collectives
// that were not moved further.

/// The predecessor of `node` that stands last, which `node` cannot be moved
/// ahead of, and why; of several reasons the first of DependenceKind. Nothing
/// if no dependence holds it. `positions` is invert() of an order that verify()
/// accepts. O(predecessors of `node`), so asking about every operation is
/// linear.
std::optional<DependenceEnd>
limitEarlier(const Problem &problem, const Positions &positions, NodeId node);

/// The same for moving later: the successor of `node` that stands first.
std::optional<DependenceEnd>
limitLater(const Problem &problem, const Positions &positions, NodeId node);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_INDUCTOR_LISTSCHEDULER_H
