//===- BackboneOrders.h - Orders of the computation of a step ---*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Orders in which the computation of a step can run, other than that of the
// program: computation that nobody is in a hurry for, such as that of weight
// gradients, moves to where the compute stream would stand still otherwise.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_BACKBONEORDERS_H
#define COMMSCHED_SCHEDULE_BACKBONEORDERS_H

#include "CommSched/Schedule/Simulator.h"
#include "CommSched/Schedule/StepStructure.h"

namespace mlir::commsched::schedule {

/// The backbone in the order of the program. O(nodes).
Order getProgramBackbone(const StepStructure &structure);

/// The backbone in an order in which what follows on an operation to the end
/// of the step, collectives included, takes no longer than the computation that
/// is left then, and `overhangNs` more, as far as that can be had. Otherwise
/// the order stays that of the program, so what moves is little and moves late.
/// With an overhang of as long as can be nothing moves.
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
/// operations of the backbone. The backbone of the new order.
/// O((nodes + dependences) log nodes + stalls * maxDistance).
Order fillStalls(const StepStructure &structure, const Order &order,
                 const Timeline &timeline, int32_t maxDistance);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_BACKBONEORDERS_H
