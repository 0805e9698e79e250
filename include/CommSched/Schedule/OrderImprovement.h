//===- OrderImprovement.h - Small moves that shorten a step -----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shortens the step of an order by moving one operation after the other, for
// programs that are small enough to try thousands of moves.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_ORDERIMPROVEMENT_H
#define COMMSCHED_SCHEDULE_ORDERIMPROVEMENT_H

#include "CommSched/Schedule/Contention.h"

namespace mlir::commsched::schedule {

struct OrderImprovementOptions {
  /// Live bytes that are never exceeded.
  int64_t limitBytes = 0;
  Contention contention;
  /// A step that is short enough, in nanoseconds: a lower bound.
  int64_t goalNs = 0;
  /// How many operations all simulations together may run through.
  int64_t effort = 0;
};

/// The order with the shortest step that was found, and of several the one with
/// the lowest peak; `order` itself, which is legal and within the limit, if
/// none is better. Operations move one at a time, to any place that their
/// dependences allow. A step that is longer is accepted for a while, and less
/// so towards the end (G. Dueck and T. Scheuer, "Threshold accepting", Journal
/// of Computational Physics 90, 1990). What is drawn depends on the problem
/// only. O(effort).
Order improveOrder(const Problem &problem, const Order &order,
                   const OrderImprovementOptions &options);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_ORDERIMPROVEMENT_H
