//===- FrontierSearch.cpp - Searches over several limits ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Support/Unlimited.h"
#include "MemorySearch.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// Frontiers
//===----------------------------------------------------------------------===//

/// The limits of a frontier, evenly between what the lowest peak of a partition
/// takes before it is scheduled and the most that a schedule takes.
std::vector<int64_t> MemorySearch::listLimits() const {
  // With the least, the most, and the limit of the search: 20 steps.
  constexpr int64_t numLimits = 17;
  int64_t least = unlimited, most = 0;
  for (const auto &[key, trial] : trials)
    least = std::min(least, trial.costs.peakBytes);
  for (const FittedTrial &point : points)
    most = std::max(most, point.schedule.peakBytes);
  std::vector<int64_t> limits;
  for (int64_t i = 0; i < numLimits; ++i)
    limits.push_back(least + (most - least) / numLimits * i);
  return limits;
}

/// Finds steps for the least, for no limit, and for limits between.
LogicalResult MemorySearch::findFrontier() {
  return failure(failed(find({0, unlimited})) || failed(find(listLimits())));
}

/// The points between which there is a choice.
FunctionFrontier MemorySearch::makeFrontier(StringRef function) const {
  FunctionFrontier result{llvm::json::fixUTF8(function), {}};
  for (const auto &[trial, schedule] : points) {
    FrontierPoint point;
    if (schedule.limitBytes != unlimited)
      point.budgetBytes = std::max(schedule.limitBytes, schedule.peakBytes);
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

//===----------------------------------------------------------------------===//
// Reserved memory
//===----------------------------------------------------------------------===//

/// What the allocator reserves for the best.
FailureOr<int64_t> MemorySearch::computeReservedBytes() {
  FailureOr<std::shared_ptr<PairScheduler>> scheduler =
      makeScheduler(*best->point.trial, scheduling);
  if (failed(scheduler))
    return failure();
  // Of the best itself nothing is applied, so that others may follow.
  FailureOr<PairDecision> decision =
      (*scheduler)->schedule(best->point.schedule.limitBytes);
  if (failed(decision))
    return failure();
  return (*scheduler)
      ->applyAndMeasureReserved(working.getFunction(), *decision, costs);
}

/// Finds the best for which the allocator reserves the limit at most, of those
/// for other limits of live bytes, or the one for which it reserves least. From
/// the limit that was tried last to the next one is as far as what is reserved
/// is from the limit.
LogicalResult MemorySearch::findReserved() {
  constexpr int32_t numAttempts = 4;
  const int64_t limitBytes = options.limitBytes;
  auto rank = [&](const PairSchedule &schedule) {
    return schedule::Rank(schedule.stepNs, *schedule.reservedBytes, limitBytes);
  };
  std::optional<FittedHalves> found;
  int64_t lowestOver = unlimited;
  for (int32_t attempt = 0; attempt < numAttempts; ++attempt) {
    if (failed(findWithinLimit()))
      return failure();
    FailureOr<int64_t> bytes = computeReservedBytes();
    if (failed(bytes))
      return failure();
    PairSchedule &schedule = best->point.schedule;
    schedule.reservedBytes = *bytes;
    if (!found || rank(schedule) < rank(found->point.schedule))
      found = best;
    int64_t liveBytes = std::min(options.limitBytes, schedule.peakBytes);
    int64_t next = std::max<int64_t>(liveBytes + limitBytes - *bytes, 0);
    bool isOver = *bytes > limitBytes;
    if (isOver)
      lowestOver = options.limitBytes;
    // Nothing takes less than that, or nothing else is to be found.
    bool isLeast = schedule.peakBytes > options.limitBytes;
    if (isOver ? isLeast : next <= options.limitBytes || next >= lowestOver)
      break;
    options.limitBytes = next;
    best.reset();
  }
  best = std::move(found);
  options.limitBytes = limitBytes;
  return success();
}
