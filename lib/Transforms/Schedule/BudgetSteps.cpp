//===- BudgetSteps.cpp - Schedules that gain from a larger budget ---------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The step scheduler is a heuristic: for a larger limit it may find a longer
// step, or an equal one that takes more memory. So a block is scheduled without
// a limit, and for the fixed limits below what that takes, and the best of
// these schedules within the limit is taken. A larger limit then chooses from
// the same schedules and more.
//
//===----------------------------------------------------------------------===//

#include "BlockScheduler.h"
#include "CommSched/Support/Unlimited.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::NodeId;

/// The budget steps, as percentages over the baseline.
static constexpr int32_t budgetStepPercent[] = {0, 1, 2, 5, 10, 20, 50, 100};

SmallVector<int64_t> BlockScheduler::listBudgetSteps() const {
  SmallVector<int64_t> limits;
  for (int32_t percent : budgetStepPercent) {
    MemoryBudget budget;
    budget.fraction = percent / 100.0;
    limits.push_back(getLimitBytes(budget));
  }
  // The step of a block inside of another operation is its peak.
  limits.erase(llvm::unique(limits), limits.end());
  return limits;
}

/// scheduleOnce(), which is called once for each limit.
FailureOr<const BlockSchedule *>
BlockScheduler::getOrSchedule(int64_t limitBytes) {
  auto it = schedules.find(limitBytes);
  if (it == schedules.end()) {
    FailureOr<BlockSchedule> schedule = scheduleOnce(limitBytes);
    if (failed(schedule))
      return failure();
    it = schedules.emplace(limitBytes, std::move(*schedule)).first;
  }
  return &it->second;
}

/// The number of operations up to which smaller budgets are considered: that
/// takes a few times as long as scheduling once.
static constexpr NodeId maxSteppedNodes = 1 << 16;

FailureOr<BlockSchedule> BlockScheduler::schedule(int64_t limitBytes) {
  if (problem->getProblem().numNodes() > maxSteppedNodes)
    return scheduleOnce(limitBytes);
  // Limits that the schedule without a limit meets are all the same.
  FailureOr<const BlockSchedule *> best = getOrSchedule(unlimited);
  if (succeeded(best) && !(*best)->step.fits(limitBytes))
    best = getOrSchedule(limitBytes);
  if (failed(best))
    return failure();
  int64_t belowBytes =
      std::min(limitBytes, schedules.at(unlimited).step.peakBytes);
  for (int64_t stepBytes : listBudgetSteps()) {
    if (stepBytes >= belowBytes)
      break;
    FailureOr<const BlockSchedule *> other = getOrSchedule(stepBytes);
    if (failed(other))
      return failure();
    if (isBetter((*other)->step.rank(limitBytes),
                 (*best)->step.rank(limitBytes)))
      best = other;
  }
  BlockSchedule result = **best;
  result.limitBytes = limitBytes;
  return result;
}
