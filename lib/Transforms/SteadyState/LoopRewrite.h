//===- LoopRewrite.h - Loops in their schedules -----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Applies the schedule of a loop, or replaces a short one by all its
// iterations, which are scheduled as one program. What runs before its first
// period and after its last one is peeled; the names (`commsched.name`) of what
// is peeled end with the part and the iteration.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_STEADYSTATE_LOOPREWRITE_H
#define COMMSCHED_LIB_TRANSFORMS_STEADYSTATE_LOOPREWRITE_H

#include "LoopScheduler.h"

namespace mlir::commsched {

/// Puts a loop whose number of iterations is static, and at least the depth,
/// into its schedule. Returns the loop of the periods. Fails if MLIR's
/// pipeliner does not support the loop, which it has left as it was.
FailureOr<scf::ForOp> applySchedule(scf::ForOp loop,
                                    const ScheduledLoop &scheduled);

/// The same for a loop whose number of iterations is known when it runs:
/// inserts an `scf.if` with the loop in its schedule, for `leastCount`
/// iterations and more, and the loop as it was, for fewer. The names in the
/// latter end with `.few`. `leastCount` is at least the depth.
LogicalResult applyGuardedSchedule(scf::ForOp loop,
                                   const ScheduledLoop &scheduled,
                                   int64_t leastCount);

/// Returns the schedule of `count` iterations within the limit of the loop. The
/// operation of node n is that of node n % numNodes in iteration n / numNodes.
/// None if the bounds are not constants. Emits an error if there is no order.
FailureOr<std::optional<schedule::StepSchedule>>
scheduleUnrolled(scf::ForOp loop, const ScheduledLoop &scheduled,
                 int64_t count);

/// Replaces the loop by all its iterations, in that order. Names
/// (`commsched.name`) end with the iteration. Linear in the result.
void unrollLoop(scf::ForOp loop, const ScheduledLoop &scheduled,
                ArrayRef<schedule::NodeId> order);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_STEADYSTATE_LOOPREWRITE_H
