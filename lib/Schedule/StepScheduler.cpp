//===- StepScheduler.cpp --------------------------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/StepScheduler.h"

#include "CommSched/Schedule/MemoryTimeline.h"
#include "CommSched/Schedule/SimpleOverlap.h"
#include "CommSched/Schedule/Simulator.h"
#include "CommSched/Schedule/Verify.h"

using namespace commsched;

namespace {

/// Keeps the best of the candidates that it is shown.
class BestSchedule {
public:
  BestSchedule(const Problem &problem, const StepSchedulerOptions &options)
      : problem(problem), options(options) {}

  /// `order` is legal.
  void offer(Order order, ScheduleOrigin origin) {
    StepSchedule schedule;
    schedule.stepNs = simulate(problem, order)->stepNs;
    schedule.peakBytes = simulateMemory(problem, order)->peakBytes;
    schedule.order = std::move(order);
    schedule.origin = origin;
    if (best.order.empty() || isBetter(schedule, best))
      best = std::move(schedule);
  }

  StepSchedule take() { return std::move(best); }

private:
  bool isBetter(const StepSchedule &a, const StepSchedule &b) const {
    bool fitsA = a.fits(options.limitBytes), fitsB = b.fits(options.limitBytes);
    if (fitsA != fitsB)
      return fitsA;
    if (fitsA && a.stepNs != b.stepNs)
      return a.stepNs < b.stepNs;
    return a.peakBytes < b.peakBytes;
  }

  const Problem &problem;
  const StepSchedulerOptions &options;
  StepSchedule best;
};

} // namespace

Result<StepSchedule>
commsched::scheduleStep(const Problem &problem,
                        const StepSchedulerOptions &options) {
  if (problem.check())
    return Error{*problem.check()};
  Order program = problem.programOrder();
  if (OptionalError error = verify(problem, program))
    return Error{"the program is not a legal order: " + *error};
  BestSchedule best(problem, options);
  best.offer(program, ScheduleOrigin::Program);
  Result<IterativeReordering> simple = overlapSimply(problem);
  if (!simple)
    return Error{simple.error()};
  best.offer(std::move(simple->order), ScheduleOrigin::SimpleOverlap);
  return best.take();
}
