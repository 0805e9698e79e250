//===- ReservedSearch.cpp - Search of a step that an allocator fits -------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Support/Unlimited.h"
#include "MemorySearch.h"

using namespace mlir;
using namespace mlir::commsched;

/// What the allocator reserves for the best.
FailureOr<int64_t> MemorySearch::computeReservedBytes() {
  FailureOr<std::shared_ptr<PairScheduler>> scheduler =
      makeScheduler(*best->point.trial);
  if (failed(scheduler))
    return failure();
  // Of the best itself nothing is applied, so that others may follow.
  FailureOr<PairDecision> decision =
      (*scheduler)->schedule(best->point.schedule.limitBytes);
  if (failed(decision))
    return failure();
  return (*scheduler)->applyAndMeasureReserved(*decision, costs);
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
