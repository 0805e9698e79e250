//===- ScheduledPair.cpp - Schedules of two halves ------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "../Schedule/SchedulingPass.h"
#include "CommSched/Report/PairReport.h"
#include "MemorySearch.h"
#include "mlir/IR/Threading.h"

using namespace mlir;
using namespace mlir::commsched;

FailureOr<std::unique_ptr<PairScheduler>>
PairScheduler::create(OwnedHalves halves, int64_t besideBackwardBytes,
                      const SchedulingOptions &options) {
  std::unique_ptr<PairScheduler> result(
      new PairScheduler(std::move(halves), besideBackwardBytes, options));
  for (func::FuncOp half : {result->getHalf(0), result->getHalf(1)}) {
    std::string reason;
    FailureOr<std::unique_ptr<BlockScheduler>> scheduler =
        BlockScheduler::create(
            half, half.getBody().front(), options,
            [&](Location, StringRef text) { reason = text.str(); });
    if (failed(scheduler))
      return failure();
    if (!*scheduler)
      return emitError(half.getLoc(), "cannot be scheduled: ") << reason;
    result->schedulers.push_back(std::move(*scheduler));
  }
  return result;
}

/// Whether the half is scheduled: a block without collectives keeps its order.
static bool hasSchedule(func::FuncOp half) {
  return llvm::is_contained(getBlocksWithCollectives(half),
                            &half.getBody().front());
}

FailureOr<BlockSchedule> PairScheduler::scheduleHalf(unsigned half,
                                                     int64_t limitBytes) {
  if (!hasSchedule(getHalf(half)))
    return schedulers[half]->getProgram();
  return schedulers[half]->schedule(limitBytes);
}

FailureOr<PairDecision> PairScheduler::schedule(int64_t limitBytes) {
  int64_t limits[] = {limitBytes,
                      std::max<int64_t>(limitBytes - besideBackwardBytes, 0)};
  std::optional<BlockSchedule> schedules[2];
  MLIRContext *context = halves.forward.getContext();
  if (failed(failableParallelForEachN(context, 0, 2, [&](size_t half) {
        FailureOr<BlockSchedule> schedule =
            scheduleHalf(static_cast<unsigned>(half), limits[half]);
        if (succeeded(schedule))
          schedules[half] = std::move(*schedule);
        return LogicalResult(schedule);
      })))
    return failure();
  const BlockSchedule &forward = *schedules[0], &backward = *schedules[1];
  PairDecision result;
  PairSchedule &pair = result.schedule;
  pair.limitBytes = limitBytes;
  pair.peakBytes = std::max(forward.step.peakBytes,
                            backward.step.peakBytes + besideBackwardBytes);
  pair.stepNs = forward.step.stepNs + backward.step.stepNs;
  pair.exposedNs = forward.exposedNs + backward.exposedNs;
  pair.numCollectives = forward.numCollectives + backward.numCollectives;
  for (std::optional<BlockSchedule> &schedule : schedules)
    result.halves.push_back(std::move(*schedule));
  return result;
}

LogicalResult PairScheduler::apply(PairDecision decision) {
  for (unsigned half : {0, 1}) {
    if (!hasSchedule(getHalf(half)))
      continue;
    DecidedBlock block = {std::move(schedulers[half]),
                          std::move(decision.halves[half])};
    if (areRemarksEnabled(getHalf(half)))
      remarkBarriers(getHalf(half), block.scheduler->getBlock());
    if (failed(applyDecision(getHalf(half), block, options)))
      return failure();
  }
  return success();
}

FailureOr<int64_t>
PairScheduler::applyAndMeasureReserved(const PairDecision &decision,
                                       OperationCosts &costs) {
  for (unsigned half : {0, 1})
    if (hasSchedule(getHalf(half)))
      schedulers[half]->apply(decision.halves[half]);
  std::string reason;
  FailureOr<std::optional<StepReport>> report =
      simulatePair({halves.forward, halves.backward}, StepReport(),
                   StepReport(), costs, reason, {options.budgetAllocator});
  if (failed(report))
    return failure();
  if (!*report)
    return emitError(halves.forward.getLoc(), "cannot be fitted: ") << reason;
  return (*report)->reserved->reservedBytes;
}
