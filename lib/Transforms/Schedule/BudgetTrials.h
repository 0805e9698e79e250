//===- BudgetTrials.h - Functions with loops within budgets -----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is decided on a loop, and then on the blocks one after the other, is
// best for each of them, and may not be for the function: with another depth,
// other operations are neighbours that fuse, and the prices are others. So
// copies of a function with loops are scheduled for several budgets, and the
// best of these is taken.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_SCHEDULE_BUDGETTRIALS_H
#define COMMSCHED_LIB_TRANSFORMS_SCHEDULE_BUDGETTRIALS_H

#include "../SteadyState/LoopPipeliner.h"
#include "BlockScheduler.h"

namespace mlir::commsched {

/// Overlaps the iterations of the loops of `function`, and renews what is
/// assumed of fusion.
FailureOr<LoopChanges> overlapLoops(func::FuncOp function,
                                    const SchedulingOptions &options,
                                    OperationCosts &costs);

/// `options` with the budget for which `function` becomes shortest: the one
/// that they have, or a fixed percentage over the baseline below it, within
/// which it then is. If it is shorter so, no gathers leave loops; if no overlap
/// of loops is within the budget and the function is with its loops as they
/// are: without that. As they are where
/// there is no choice: for a function without loops that hold collectives, with
/// one whose number of iterations is not known, or with more than 65,536
/// operations.
FailureOr<SchedulingOptions>
chooseBudget(func::FuncOp function, const SchedulingOptions &options,
             std::shared_ptr<CostAnalysis> pricing);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_SCHEDULE_BUDGETTRIALS_H
