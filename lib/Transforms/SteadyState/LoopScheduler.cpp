//===- LoopScheduler.cpp - Schedules of loops -----------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopScheduler.h"

#include "CommSched/Interfaces/Futures.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

FailureOr<std::optional<ScheduledLoop>>
mlir::commsched::scheduleLoop(scf::ForOp loop, int64_t outerBytes,
                              OperationCosts &costs,
                              const LoopSchedulingOptions &options,
                              LoopProblem::DeclineFunction decline) {
  using Outcome = std::optional<ScheduledLoop>;
  if (loop->hasAttr(pipelinedAttrName)) {
    decline(loop.getLoc(),
            "has collectives in flight from one iteration to the next already");
    return Outcome();
  }
  FailureOr<std::optional<LoopProblem>> problem =
      LoopProblem::create(loop, costs, decline);
  if (failed(problem))
    return failure();
  if (!*problem)
    return Outcome();
  ScheduledLoop result = {std::move(**problem), {}, {}, {}, 0, 0};
  const CyclicProblem &cyclic = result.problem.getProblem();
  CyclicOrder program = programOrder(cyclic);
  Result<PeriodTimeline> period = simulatePeriod(cyclic, program);
  Result<PeriodBound> bound = computePeriodBound(cyclic);
  if (!period || !bound)
    return emitError(loop.getLoc())
           << "cannot be scheduled: "
           << (!period ? period.error() : bound.error());
  int64_t peakBytes = computeRunPeak(cyclic, program);
  result.program = {std::move(program), period->periodNs, peakBytes};
  result.bound = std::move(*bound);
  result.outerBytes = outerBytes;
  result.limitBytes =
      options.budget.getLimitBytes(peakBytes + outerBytes) - outerBytes;
  CyclicSchedulerOptions with;
  with.maxDepth = options.maxDepth;
  with.mayCrossBoundary = options.mayCarryFutures;
  with.step.slackPercent =
      options.slackPercent.value_or(costs.getSlackPercent());
  with.step.limitBytes = result.limitBytes;
  Result<CyclicSchedule> schedule = scheduleCyclic(cyclic, with);
  if (!schedule)
    return emitError(loop.getLoc())
           << "cannot be scheduled: " << schedule.error();
  result.schedule = std::move(*schedule);
  return Outcome(std::move(result));
}

int64_t ScheduledLoop::computeRunNs(const CyclicSchedule &of,
                                    int64_t count) const {
  return schedule::computeRunNs(problem.getProblem(), of.order, count);
}

std::optional<int64_t> ScheduledLoop::findLeastCount() const {
  int64_t gainNs = program.periodNs - schedule.periodNs;
  auto computeLossNs = [&](int64_t count) {
    return computeRunNs(schedule, count) - computeRunNs(program, count);
  };
  if (int64_t lossNs = computeLossNs(maxSimulatedRepetitions); lossNs >= 0)
    return gainNs > 0
               ? std::optional(maxSimulatedRepetitions + lossNs / gainNs + 1)
               : std::nullopt;
  int64_t tooFew = schedule.order.depth() - 1, enough = maxSimulatedRepetitions;
  while (enough - tooFew > 1) {
    int64_t middle = tooFew + (enough - tooFew) / 2;
    (computeLossNs(middle) < 0 ? enough : tooFew) = middle;
  }
  return enough;
}
