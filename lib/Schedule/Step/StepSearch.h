//===- StepSearch.h - The best of several schedules -------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One round of the scheduler of steps: makes candidates for the order of one
// program and keeps the best.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_STEP_STEPSEARCH_H
#define COMMSCHED_LIB_SCHEDULE_STEP_STEPSEARCH_H

#include "CommSched/Schedule/StepConstruction.h"
#include "CommSched/Schedule/StepScheduler.h"

namespace mlir::commsched::schedule {

/// Looks for the best order of one program.
class StepSearch {
public:
  StepSearch(const Problem &problem, const StepSchedulerOptions &options)
      : problem(problem), options(options) {}

  /// The best of all candidates.
  Result<StepSchedule> run();
  /// The best of the program and what is constructed on its backbone.
  Result<StepSchedule> sketch();

private:
  /// The best order that was constructed with some slack, and how.
  struct Plan {
    int32_t slackPercent = 0;
    Order order;
    int64_t stepNs = std::numeric_limits<int64_t>::max();
    /// With the slack.
    int64_t expectedNs = std::numeric_limits<int64_t>::max();
    int64_t lookAheadNs = 0;
  };

  /// More than a thousandth of the step: what is worth the trouble.
  bool isWorthwhile(int64_t gainNs) const {
    return gainNs > best.stepNs / 1024;
  }
  OptionalError begin();
  OptionalError offer(const Order &order, ScheduleOrigin origin);
  bool isBetter(const StepSchedule &a, const StepSchedule &b) const;
  void construct(const StepConstruction &construction, int64_t lookAheadNs,
                 int64_t limitBytes, Plan &plan) const;
  Plan construct(const StepStructure &structure, const Order &backbone,
                 int32_t slackPercent,
                 const std::vector<int64_t> &lookAheadsNs) const;
  Result<Plan> construct(const StepStructure &structure, int32_t slackPercent,
                         const std::vector<int64_t> &lookAheadsNs) const;
  OptionalError constructAll();
  OptionalError improve();
  OptionalError saveMemory();

  const Problem &problem;
  const StepSchedulerOptions &options;
  int64_t boundNs = 0;
  StepSchedule best;
  bool hasBest = false;
};

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_STEP_STEPSEARCH_H
