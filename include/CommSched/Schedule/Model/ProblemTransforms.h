//===- ProblemTransforms.h - Changes of scheduling problems -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions that change a problem: dependences that fix the order of
// collectives, and operations that are renumbered in the order in which they
// run.
//
// All ranks of a group must start its collectives in the same order. The order
// of the program is the same on all ranks; expressed as dependences, no solver
// can change it.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_MODEL_PROBLEMTRANSFORMS_H
#define COMMSCHED_SCHEDULE_MODEL_PROBLEMTRANSFORMS_H

#include "CommSched/Schedule/Model/Problem.h"

namespace mlir::commsched::schedule {

/// Which collectives keep their relative order.
enum class CollectiveOrderScope {
  /// Those of the same stream.
  Stream,
  /// All of them.
  Global,
};

/// Returns the collectives (Start and Blocking) in program order. O(nodes).
std::vector<NodeId> collectivesInProgramOrder(const Problem &problem);

/// Adds an Order dependence from each collective to the next one in `scope`.
/// The problem has to be finalized afterwards. O(nodes).
void addCollectiveOrder(Problem &problem, CollectiveOrderScope scope);

/// Returns `order` without the operations that make no difference to a
/// schedule, such as views: they take no time, allocate nothing, depend on one
/// other operation at most, and something that depends on them holds what they
/// hold. From `leastNodes` operations on: a smaller problem is searched soon as
/// it is. O(nodes + dependences + uses).
Order leaveOutFree(const Problem &problem, const Order &order,
                   NodeId leastNodes = 2048);

/// Returns `problem` with `order`, which is a legal one, as its program: node i
/// is the operation at position i. Buffers keep their numbers. The result is
/// finalized. `order` may be one of leaveOutFree(): what depends on an
/// operation that is left out depends on the one that this depends on. O(nodes
/// + dependences + uses).
Problem renumber(const Problem &problem, const Order &order);

/// Returns a legal order with the operations of `wanted`, each of which is
/// named once, in that order as far as dependences allow: directly before an
/// operation comes what it needs that has not run, in the order of the program
/// where dependences leave a choice. Operations that are not named come last.
/// `problem` is finalized. O((nodes + dependences) log nodes).
Order completeOrder(const Problem &problem, const Order &wanted);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_MODEL_PROBLEMTRANSFORMS_H
