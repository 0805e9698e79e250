//===- DecidedBlock.h - Schedules that are decided --------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Applies the schedule that was decided for a block of a function, and explains
// it in remarks.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_SCHEDULE_DECIDEDBLOCK_H
#define COMMSCHED_LIB_TRANSFORMS_SCHEDULE_DECIDEDBLOCK_H

#include "BlockScheduler.h"
#include "SplitRemarks.h"

namespace mlir::commsched {

/// A block with the schedule that was decided for it.
struct DecidedBlock {
  BlockScheduler scheduler;
  BlockSchedule schedule;
  /// For remarks.
  NotSplitReasons notSplit;

  /// What has read the block that the schedule is about.
  const BlockScheduler &getReader() const {
    return schedule.split ? *schedule.split->scheduler : scheduler;
  }
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
