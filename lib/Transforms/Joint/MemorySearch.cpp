//===- MemorySearch.cpp - Search of a step that fits ----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemorySearch.h"
#include "CommSched/Support/Unlimited.h"
#include "MimicAutogradOrder.h"
#include "OffloadActivations.h"
#include "QuantizeActivations.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::commsched;
using partition::Split;

FailureOr<PartitionHalves>
mlir::commsched::createHalves(const JointFunction &working, const Split &split,
                              OperationCosts &costs,
                              const HalvesOptions &options) {
  PartitionHalves halves = splitFunction(working, split, options.names);
  if (succeeded(applyAutogradOrder(halves.backward,
                                   /*emitRemarks=*/!options.isTrial))) {
    if (options.treatment.quantizes)
      quantizeSavedValues(halves, options.treatment.quantizedEighths,
                          /*emitRemarks=*/!options.isTrial);
    if (options.treatment.offloads)
      offloadSavedValues(halves, costs, options.hostBytes);
    return halves;
  }
  halves.forward.erase();
  halves.backward.erase();
  return failure();
}

FailureOr<PairCosts> mlir::commsched::getPairCosts(PartitionHalves halves,
                                                   OperationCosts &costs) {
  std::string reason;
  FailureOr<std::optional<PairCosts>> pair =
      computePairCosts({halves.forward, halves.backward}, costs, reason);
  if (failed(pair))
    return failure();
  if (!*pair)
    return emitError(halves.forward.getLoc(), "cannot be fitted: ") << reason;
  return **pair;
}

/// Calls `use` with the halves of `split`, which live no longer.
LogicalResult
MemorySearch::withHalves(const Split &split, Treatment treatment,
                         function_ref<LogicalResult(PartitionHalves)> use) {
  FailureOr<PartitionHalves> halves =
      createHalves(working, split, costs,
                   {getPartitionNames(working.getFunction()), /*isTrial=*/true,
                    treatment, hostBytes});
  if (failed(halves))
    return failure();
  LogicalResult result = use(*halves);
  halves->forward.erase();
  halves->backward.erase();
  return result;
}

FailureOr<TrialCosts> MemorySearch::measure(const Split &split,
                                            Treatment treatment) {
  TrialCosts result;
  if (failed(withHalves(
          split, treatment, [&](PartitionHalves halves) -> LogicalResult {
            FailureOr<PairCosts> pair = getPairCosts(halves, costs);
            if (succeeded(pair))
              result = {pair->memory.peakBytes, pair->boundNs};
            return pair;
          })))
    return failure();
  return result;
}

FailureOr<TrialCosts> MemorySearch::measureWithin(const Split &split,
                                                  Treatment &treatment,
                                                  int64_t limitBytes) {
  FailureOr<TrialCosts> all = measure(split, treatment);
  if (failed(all) || !treatment.quantizes || all->peakBytes > limitBytes)
    return all;
  Treatment none = treatment;
  none.quantizes = false;
  FailureOr<TrialCosts> wide = measure(split, none);
  if (failed(wide))
    return failure();
  if (wide->peakBytes <= limitBytes)
    return all;
  // The peak falls about evenly with what is in 8 bits.
  int64_t needed = wide->peakBytes - limitBytes;
  auto eighths = static_cast<int32_t>(llvm::divideCeil(
      needed, llvm::divideCeil(wide->peakBytes - all->peakBytes, 8)));
  for (Treatment part = treatment; eighths < 8; ++eighths) {
    part.quantizedEighths = eighths;
    FailureOr<TrialCosts> costs = measure(split, part);
    if (failed(costs))
      return failure();
    if (costs->peakBytes > limitBytes)
      continue;
    treatment = part;
    return costs;
  }
  return all;
}

/// Schedules the halves of `trial` within what `getNextLimit` says: it is given
/// the last schedule, null at first, and ends with none.
LogicalResult MemorySearch::scheduleTrial(
    const PartitionTrial &trial,
    function_ref<std::optional<int64_t>(const PairSchedule *)> getNextLimit) {
  return withHalves(
      trial.split, trial.treatment,
      [&](PartitionHalves halves) -> LogicalResult {
        FailureOr<PairCosts> pair = getPairCosts(halves, costs);
        if (failed(pair))
          return failure();
        FailureOr<PairScheduler> scheduler = PairScheduler::create(
            halves, pair->besideBackwardBytes, scheduling);
        if (failed(scheduler))
          return failure();
        for (std::optional<int64_t> limit = getNextLimit(nullptr); limit;) {
          FailureOr<PairSchedule> schedule = scheduler->schedule(*limit);
          if (failed(schedule))
            return failure();
          points.push_back({&trial, *schedule});
          limit = getNextLimit(&*schedule);
        }
        return success();
      });
}

/// Returns the shortest of the points within `bytes`, or null. Of equal ones
/// that which does nothing to its saved values, then that with the lower peak,
/// then the first.
const FittedTrial *MemorySearch::findBest(int64_t bytes) const {
  const FittedTrial *best = nullptr;
  auto getKey = [](const FittedTrial &point) {
    const Treatment &treatment = point.trial->treatment;
    return std::make_tuple(point.schedule.stepNs, treatment.quantizes,
                           treatment.offloads, point.schedule.peakBytes);
  };
  for (const FittedTrial &point : points)
    if (point.schedule.peakBytes <= bytes &&
        (!best || getKey(point) < getKey(*best)))
      best = &point;
  return best;
}

/// Schedules the most promising of `trials`, of which that with the shortest
/// bound comes first, within `bytes`.
LogicalResult
MemorySearch::schedulePromising(ArrayRef<const PartitionTrial *> trials,
                                int64_t bytes, int32_t count) {
  for (const PartitionTrial *trial : trials) {
    if (trial->costs.peakBytes > bytes)
      continue;
    const FittedTrial *best = findBest(bytes);
    if (count-- == 0 || (best && best->schedule.stepNs <= trial->costs.boundNs))
      break;
    if (failed(scheduleTrial(*trial, [&](const PairSchedule *last) {
          return last ? std::nullopt : std::optional<int64_t>(bytes);
        })))
      return failure();
  }
  return success();
}

/// Schedules `trials` without a limit, then for less than the last schedule
/// took, and so on: points that are the same whatever the memory is, so that
/// more memory never makes a step longer. Leaves out what is longer than a
/// schedule within `bytes` in any case.
LogicalResult
MemorySearch::scheduleCompletely(ArrayRef<const PartitionTrial *> trials,
                                 int64_t bytes) {
  constexpr int32_t mostLimits = 16;
  for (const PartitionTrial *trial : trials) {
    const FittedTrial *best = findBest(bytes);
    if (best && best->schedule.stepNs <= trial->costs.boundNs)
      break;
    int32_t numLimits = 0;
    auto getNextLimit =
        [&](const PairSchedule *last) -> std::optional<int64_t> {
      if (!last)
        return unlimited;
      if (!last->fits() || last->peakBytes == 0 || ++numLimits > mostLimits)
        return std::nullopt;
      return numLimits == mostLimits ? 0 : last->peakBytes - 1;
    };
    if (failed(scheduleTrial(*trial, getNextLimit)))
      return failure();
  }
  return success();
}

/// Schedules the trial with the lowest peak such that it takes least.
LogicalResult
MemorySearch::scheduleLeast(ArrayRef<const PartitionTrial *> trials) {
  const PartitionTrial *least = *llvm::min_element(
      trials, [](const PartitionTrial *a, const PartitionTrial *b) {
        return a->costs.peakBytes < b->costs.peakBytes;
      });
  return scheduleTrial(*least, [&](const PairSchedule *last) {
    return last ? std::nullopt : std::optional<int64_t>(0);
  });
}

/// The budgets of the frontier: evenly from the lowest peak of all trials to a
/// tenth above that of the one with the shortest bound.
static SmallVector<int64_t>
getFrontierBudgets(ArrayRef<const PartitionTrial *> trials) {
  constexpr int64_t numBudgets = 19;
  int64_t least = unlimited;
  for (const PartitionTrial *trial : trials)
    least = std::min(least, trial->costs.peakBytes);
  int64_t most = trials.front()->costs.peakBytes;
  most += most / 10;
  SmallVector<int64_t> budgets;
  for (int64_t i = 0; i < numBudgets; ++i)
    budgets.push_back(least + (most - least) / (numBudgets - 1) * i);
  return budgets;
}

/// Finds points, and returns the best for the memory that there is.
FailureOr<FittedTrial>
MemorySearch::choose(ArrayRef<const PartitionTrial *> trials,
                     int64_t limitBytes, bool isSmall, bool wantsFrontier) {
  constexpr int32_t mostSchedules = 3;
  if (wantsFrontier)
    for (int64_t bytes : getFrontierBudgets(trials))
      if (failed(schedulePromising(trials, bytes, /*count=*/1)))
        return failure();
  if (failed(isSmall ? scheduleCompletely(trials, limitBytes)
                     : schedulePromising(trials, limitBytes, mostSchedules)))
    return failure();
  if (!findBest(limitBytes) && failed(scheduleLeast(trials)))
    return failure();
  if (const FittedTrial *best = findBest(limitBytes))
    return *best;
  return *llvm::min_element(
      points, [](const FittedTrial &a, const FittedTrial &b) {
        return a.schedule.peakBytes < b.schedule.peakBytes;
      });
}

/// The points between which there is a choice.
FunctionFrontier MemorySearch::makeFrontier(StringRef function) const {
  FunctionFrontier result{llvm::json::fixUTF8(function), {}};
  for (const auto &[trial, schedule] : points) {
    FrontierPoint point;
    if (schedule.limitBytes != unlimited)
      point.budgetBytes = schedule.limitBytes;
    point.peakBytes = schedule.peakBytes;
    point.stepNs = schedule.stepNs;
    point.lowerBoundNs = trial->costs.boundNs;
    point.exposedNs = schedule.exposedNs;
    point.numCollectives = schedule.numCollectives;
    result.points.push_back(point);
  }
  keepFrontier(result.points);
  return result;
}
