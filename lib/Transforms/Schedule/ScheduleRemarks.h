//===- ScheduleRemarks.h - Remarks on scheduled blocks ----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The remarks of commsched-schedule on a block: its step time and peak memory
// before and after, and the excess over its budget; and which collectives are
// not merged or not hidden, with the reasons.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_SCHEDULE_SCHEDULEREMARKS_H
#define COMMSCHED_LIB_TRANSFORMS_SCHEDULE_SCHEDULEREMARKS_H

#include "BlockScheduler.h"

namespace mlir::commsched {

/// Emits the remarks on the `schedule` that a block of `function` gets:
/// `BlockScheduled`, or `BlockKept` if its order stays, and `BudgetExceeded` if
/// it takes more than its limit.
void remarkSchedule(func::FuncOp function, const BlockScheduler &scheduler,
                    const BlockSchedule &schedule);

/// Emits a remark `CollectiveAlone` on each collective that is in none of the
/// buckets of `schedule`; if there are none, but some were tried, one remark
/// `CollectivesNotMerged` on the block. For before the schedule is applied.
void remarkMerging(func::FuncOp function, const BlockScheduler &scheduler,
                   const BlockSchedule &schedule);

/// Emits a remark `CollectiveExposed` on each collective that computation does
/// not hide in `order`, one of the block as `scheduler` has read it. Emits an
/// error if that cannot be found out.
LogicalResult remarkExposure(func::FuncOp function,
                             const BlockScheduler &scheduler,
                             const schedule::Order &order, int64_t limitBytes);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_SCHEDULE_SCHEDULEREMARKS_H
