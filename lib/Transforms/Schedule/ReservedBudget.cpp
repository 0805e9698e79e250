//===- ReservedBudget.cpp - Budgets of reserved memory --------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockScheduler.h"
#include "CommSched/Schedule/Allocator/ReservedMemory.h"
#include "CommSched/Schedule/Model/Simulator.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::Problem;
using schedule::ReservedMemory;
using schedule::Timeline;

/// What the allocator reserves for the program in that schedule.
FailureOr<int64_t>
BlockScheduler::computeReservedBytes(const BlockSchedule &schedule) const {
  const BlockScheduler &read =
      schedule.split ? *schedule.split->scheduler : *this;
  const Problem &known = read.getProblemOf(schedule.buckets);
  Location location = block->getParentOp()->getLoc();
  Result<Timeline> timeline = simulate(known, schedule.step.order, contention);
  if (!timeline)
    return emitError(location, "cannot be scheduled: ") << timeline.error();
  Result<ReservedMemory> memory = replayAllocations(
      known, schedule.step.order, *timeline, *options->budgetAllocator);
  if (!memory)
    return emitError(location, "cannot be scheduled: ") << memory.error();
  return memory->reservedBytes;
}

/// The best schedule for which the allocator reserves `limitBytes` at most, of
/// those that lower limits of live bytes give.
FailureOr<BlockSchedule> BlockScheduler::scheduleReserved(int64_t limitBytes) {
  constexpr int32_t numAttempts = 4;
  int64_t liveLimitBytes = limitBytes;
  FailureOr<int64_t> programBytes = computeReservedBytes(program);
  if (failed(programBytes))
    return failure();
  // If nothing reserves less, the program stays as it is.
  BlockSchedule best = program;
  best.limitBytes = limitBytes;
  best.reserved = {*programBytes, limitBytes};
  for (int32_t attempt = 0; attempt < numAttempts; ++attempt) {
    FailureOr<BlockSchedule> next = schedule(liveLimitBytes);
    if (failed(next))
      return failure();
    FailureOr<int64_t> bytes = computeReservedBytes(*next);
    if (failed(bytes))
      return failure();
    next->reserved = {*bytes, limitBytes};
    if (next->fits())
      return next;
    // Below that limit no schedule is known.
    bool isLeast = !next->step.fits(liveLimitBytes);
    liveLimitBytes =
        std::min(liveLimitBytes, next->step.peakBytes) - (*bytes - limitBytes);
    if (*bytes < best.reserved->bytes)
      best = std::move(*next);
    if (isLeast)
      break;
  }
  return best;
}

FailureOr<BlockSchedule> BlockScheduler::scheduleWithinBudget() {
  int64_t limitBytes = getLimitBytes(options->budget);
  // What the allocator holds for the operations around a block is not known.
  if (!options->budgetAllocator || !isBody(function, *block))
    return schedule(limitBytes);
  return scheduleReserved(limitBytes);
}
