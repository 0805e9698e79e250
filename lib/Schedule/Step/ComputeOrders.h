//===- ComputeOrders.h - Orders of the computation of a step ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Orders in which the computation of a step can run, other than that of the
// program. Computation with slack, such as that of weight gradients, moves to
// where the compute stream would be idle otherwise.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_STEP_COMPUTEORDERS_H
#define COMMSCHED_LIB_SCHEDULE_STEP_COMPUTEORDERS_H

#include "CommSched/Schedule/Model/Simulator.h"
#include "StepStructure.h"

namespace mlir::commsched::schedule {

/// Returns the compute order of the program. O(nodes).
Order getProgramComputeOrder(const StepStructure &structure);

/// Returns the compute order of an order of all operations. O(nodes).
Order getComputeOrder(const StepStructure &structure, const Order &order);

/// Returns a compute order that fills the end of the step with computation. The
/// tail of each operation, which is the longest chain of operations that follow
/// it, collectives included, is at most as long as the computation that follows
/// it in the order plus `overhangNs`, where that is possible. Otherwise the
/// order is that of the program, so that few operations move. With an unlimited
/// overhang none moves.
///
/// The order is built from its end: of the operations that no remaining
/// operation depends on, the last of the program whose tail is short enough is
/// taken, or else the one with the shortest tail (E. L. Lawler, "Optimal
/// sequencing of a single machine subject to precedence constraints",
/// Management Science 19, 1973). O((nodes + dependences) log nodes).
Order fillEnd(const StepStructure &structure, int64_t overhangNs);

/// Returns a compute order that fills the stalls of `order`, whose simulation
/// is `timeline`. Computation moves between the start and the wait of a
/// collective that is exposed: from before it, if it is not needed until then,
/// or from behind it, if it is ready by then; chains move together; over at
/// most `maxDistance` operations of the compute order. O((nodes + dependences)
/// log nodes + stalls * maxDistance * dependences of an operation).
Order fillStalls(const StepStructure &structure, const Order &order,
                 const Timeline &timeline, int32_t maxDistance);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_STEP_COMPUTEORDERS_H
