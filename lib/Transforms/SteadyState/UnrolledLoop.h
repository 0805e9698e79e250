//===- UnrolledLoop.h - Schedules of unrolled loops -------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Schedules all iterations of a short loop as one program, and replaces the
// loop by it.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_STEADYSTATE_UNROLLEDLOOP_H
#define COMMSCHED_LIB_TRANSFORMS_STEADYSTATE_UNROLLEDLOOP_H

#include "LoopScheduler.h"

namespace mlir::commsched {

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

#endif // COMMSCHED_LIB_TRANSFORMS_STEADYSTATE_UNROLLEDLOOP_H
