//===- FrontierSearch.cpp - Steps for all amounts of memory ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Support/Unlimited.h"
#include "MemorySearch.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace mlir::commsched;

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

/// Schedules the most promising within each of the limits, as
/// schedulePromising() begins.
LogicalResult MemorySearch::scheduleFirst(ArrayRef<int64_t> limits) {
  for (int64_t bytes : limits)
    if (failed(measureFor(bytes)))
      return failure();
  std::vector<LimitedTrial> wanted;
  for (int64_t bytes : limits)
    if (std::vector<const PartitionTrial *> within = getPromising(bytes);
        !within.empty())
      wanted.push_back({within.front(), bytes});
  return scheduleAtOnce(wanted);
}

/// Finds steps for the least, for no limit, and for limits between.
LogicalResult MemorySearch::findFrontier() {
  if (failed(find(0)) || failed(find(unlimited)))
    return failure();
  std::vector<int64_t> limits = listLimits();
  if (!list.isSmall() && failed(scheduleFirst(limits)))
    return failure();
  for (int64_t bytes : limits)
    if (failed(find(bytes)))
      return failure();
  return success();
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
