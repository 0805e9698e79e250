//===- StepScheduler.cpp --------------------------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/StepScheduler.h"

#include "CommSched/Schedule/Renumbering.h"
#include "CommSched/Schedule/Verify.h"
#include "OrderedUses.h"
#include "StepSearch.h"

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

/// For a problem whose dependences order all uses.
static Result<StepSchedule> searchStep(const Problem &problem,
                                       const StepSchedulerOptions &options) {
  Result<StepSchedule> schedule = StepSearch(problem, options).run();
  if (!schedule)
    return schedule;
  // As long as the schedule, taken as a program, can be bettered, so that
  // another run finds nothing.
  constexpr int32_t maxRounds = 16;
  for (int32_t round = 0;
       round < maxRounds && schedule->origin != ScheduleOrigin::Program;
       ++round) {
    Problem program = renumber(problem, schedule->order);
    Result<StepSchedule> next = StepSearch(program, options).run();
    if (!next)
      return next;
    if (next->origin == ScheduleOrigin::Program)
      break;
    for (NodeId &node : next->order)
      node = schedule->order[node];
    // What was constructed stays so, whatever is done to it.
    if (schedule->origin == ScheduleOrigin::Constructed)
      next->origin = ScheduleOrigin::Constructed;
    schedule = std::move(next);
  }
  return schedule;
}

/// Checks the problem, and gives `search` one whose dependences order all uses.
template <typename SearchFn>
static Result<StepSchedule> checkAndSearch(const Problem &problem,
                                           SearchFn search) {
  if (problem.check())
    return Error{*problem.check()};
  if (OptionalError error = verify(problem, problem.programOrder()))
    return Error{"the program is not a legal order: " + *error};
  std::optional<Problem> ordered = orderUses(problem);
  return search(ordered ? *ordered : problem);
}

Result<StepSchedule>
schedule::scheduleStep(const Problem &problem,
                       const StepSchedulerOptions &options) {
  return checkAndSearch(problem, [&](const Problem &ordered) {
    return searchStep(ordered, options);
  });
}

Result<StepSchedule> schedule::sketchStep(const Problem &problem,
                                          const StepSchedulerOptions &options) {
  return checkAndSearch(problem, [&](const Problem &ordered) {
    return StepSearch(ordered, options).sketch();
  });
}
