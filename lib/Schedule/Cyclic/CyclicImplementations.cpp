//===- CyclicImplementations.cpp - Choice in programs that repeat ---------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Cyclic/CyclicImplementations.h"

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

Result<CyclicProblem>
schedule::withImplementations(const CyclicProblem &problem,
                              const Implementations &implementations,
                              const ImplementationChoice &choice) {
  Result<Problem> body =
      withImplementations(problem.body(), implementations, choice);
  if (!body)
    return Error{body.error()};
  CyclicProblem result(std::move(*body));
  for (const CarriedDependence &edge : problem.carriedDependences())
    result.addDependence(edge.from, edge.to, edge.kind, edge.distance);
  for (const CarriedUse &use : problem.carriedUses())
    result.addUse(use.buffer, use.node, use.distance);
  if (Status status = result.check(); !status)
    return status;
  return result;
}

/// Chooses for the period of `schedule`, whose collectives are waited for in
/// their period. Returns the choice with the order that was found for it.
static Result<std::pair<ImplementationChoice, CyclicOrder>> chooseInPeriod(
    const CyclicProblem &problem, const Implementations &implementations,
    const CyclicOrder &schedule, const StepSchedulerOptions &options) {
  Result<Problem> period = makePeriodProblem(problem, schedule);
  if (!period)
    return Error{period.error()};
  Implementations byPlace;
  for (NodeId node : schedule.order)
    byPlace.push_back(implementations[node]);
  Result<ImplementationSchedule> chosen = scheduleImplementations(
      *period, byPlace, period->programOrder(), options);
  if (!chosen)
    return Error{chosen.error()};
  ImplementationChoice choice(schedule.order.size());
  CyclicOrder order = {schedule.stages, {}};
  for (NodeId place : chosen->schedule.order) {
    NodeId node = schedule.order[place];
    choice[node] = chosen->choice[place];
    order.order.push_back(node);
  }
  return std::pair(std::move(choice), std::move(order));
}

Result<CyclicImplementationSchedule>
schedule::scheduleImplementations(const CyclicProblem &problem,
                                  const Implementations &implementations,
                                  const CyclicSchedulerOptions &options) {
  CyclicImplementationSchedule best;
  best.choice.resize(implementations.size());
  // With the streams of all implementations, as the contention has them.
  Result<CyclicProblem> first =
      withImplementations(problem, implementations, best.choice);
  if (!first)
    return Error{first.error()};
  Result<CyclicSchedule> plain = scheduleCyclic(*first, options);
  if (!plain)
    return Error{plain.error()};
  best.schedule = *plain;
  CyclicSchedulerOptions whole = options;
  whole.mayCrossBoundary = false;
  if (options.mayCrossBoundary)
    plain = scheduleCyclic(*first, whole);
  if (!plain)
    return Error{plain.error()};
  auto chosen =
      chooseInPeriod(*first, implementations, plain->order, options.step);
  if (!chosen)
    return Error{chosen.error()};
  auto &[choice, order] = *chosen;
  Result<CyclicProblem> changed =
      withImplementations(problem, implementations, choice);
  if (!changed)
    return Error{changed.error()};
  int64_t limitBytes = options.step.limitBytes;
  for (Result<CyclicSchedule> candidate :
       {measureCyclic(*changed, std::move(order), options.step.contention),
        scheduleCyclic(*changed, options)}) {
    if (!candidate)
      return Error{candidate.error()};
    if (isBetter(candidate->rank(limitBytes), best.schedule.rank(limitBytes)))
      best = {choice, std::move(*candidate)};
  }
  return best;
}
