//===- BudgetTrials.h - Budgets for functions with loops --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds out on copies of a function for which budget, and with which of its
// loops overlapped, it becomes shortest.
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
/// are: without that. As they are where there is no choice.
FailureOr<SchedulingOptions>
chooseBudget(func::FuncOp function, const SchedulingOptions &options,
             std::shared_ptr<CostAnalysis> pricing);

/// The same for a function whose blocks have been scheduled. Merged collectives
/// leave other loops, of which more may overlap. None if none do, or if the
/// function does not become shorter by what is worthwhile.
FailureOr<std::optional<SchedulingOptions>>
chooseAgain(func::FuncOp function, const SchedulingOptions &options,
            std::shared_ptr<CostAnalysis> pricing);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_SCHEDULE_BUDGETTRIALS_H
