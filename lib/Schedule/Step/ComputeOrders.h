//===- ComputeOrders.h - Orders of the computation of a step -- -*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Orders in which the computation of a step can run, other than that of the
// program. Computation with slack, such as that of weight gradients, moves to
// where the compute stream would be idle otherwise.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_STEP_COMPUTEORDERS_H
#define COMMSCHED_LIB_SCHEDULE_STEP_COMPUTEORDERS_H

#include "CommSched/Schedule/Simulator.h"
#include "StepStructure.h"

namespace mlir::commsched::schedule {

/// The compute order in the order of the program. O(nodes).
Order getProgramComputeOrder(const StepStructure &structure);

/// The compute order in an order in which what follows on an operation to the
/// end of the step, collectives included, takes no longer than the computation
/// that is left then, and `overhangNs` more, as far as that can be had.
/// Otherwise the order stays that of the program, so what moves is little and
/// moves late. With an overhang of as long as can be nothing moves.
///
/// From the last operation backwards the last of the program is taken that
/// follows nothing which is left and keeps to that, or else the one with the
/// least behind it (E. L. Lawler, "Optimal sequencing of a single machine
/// subject to precedence constraints", Management Science 19, 1973).
/// O((nodes + dependences) log nodes).
Order fillEnd(const StepStructure &structure, int64_t overhangNs);

/// Moves computation beside the collectives that `order`, of which `timeline`
/// is the simulation, waits for: what is in front of them and not needed by
/// then, or behind them and ready by then; and not further than `maxDistance`
/// operations of the compute order. The compute order of the new order.
/// O((nodes + dependences) log nodes + stalls * maxDistance).
Order fillStalls(const StepStructure &structure, const Order &order,
                 const Timeline &timeline, int32_t maxDistance);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_STEP_COMPUTEORDERS_H
