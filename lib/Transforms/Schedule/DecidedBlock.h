//===- DecidedBlock.h - Schedules that are decided --------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Applies the schedule that was decided for a block of a function, and explains
// it in remarks: CollectiveSplit and CollectiveNotSplit are those on what is
// split, and SplitEnd the one at the other place that they are about.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_SCHEDULE_DECIDEDBLOCK_H
#define COMMSCHED_LIB_TRANSFORMS_SCHEDULE_DECIDEDBLOCK_H

#include "BlockScheduler.h"

namespace mlir::commsched {

/// What the collective `start` of `region` is split with, into so many chunks.
std::string describeSplit(Operation *start, const SplitRegion &region,
                          int64_t chunks);

/// Emits a remark `CollectiveSplit` on each collective that `schedule` splits.
/// For before it is applied.
void remarkSplitRegions(func::FuncOp function, BlockScheduler &scheduler,
                        const BlockSchedule &schedule);

/// Why the collectives of a block are not split, by their starts.
using NotSplitReasons = DenseMap<Operation *, SplitObstacle>;

/// The reasons for the collectives of the block that `schedule` makes, before
/// it is applied.
NotSplitReasons explainNotSplit(BlockScheduler &scheduler,
                                const BlockSchedule &schedule);

/// Emits the remark `CollectiveNotSplit` on the collective `start`, and
/// `SplitEnd` at the place of the obstacle, if it has one.
void remarkNotSplit(func::FuncOp function, Operation *start,
                    const SplitObstacle &obstacle);

/// Emits the remark `SplitEnd`: `reason`, about an operation at `place`, ends
/// what is split with the collective `start`.
void remarkSplitEnd(func::FuncOp function, Location place, Operation *start,
                    StringRef reason);

/// A block with the schedule that was decided for it.
struct DecidedBlock {
  std::unique_ptr<BlockScheduler> scheduler;
  BlockSchedule schedule;
  /// For remarks.
  NotSplitReasons notSplit;
};

/// Applies the schedule of `block`, which is of `function`, and emits the
/// remarks on it if remarks are enabled. Returns whether anything changed.
/// Emits an error if it cannot be found out what is exposed.
FailureOr<bool> applyDecision(func::FuncOp function, DecidedBlock &block,
                              const SchedulingOptions &options);

/// That `schedule`, which needs least, is over its budget, and by how much.
std::string explainOverBudget(const schedule::Problem &problem,
                              const BlockSchedule &schedule);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_SCHEDULE_DECIDEDBLOCK_H
