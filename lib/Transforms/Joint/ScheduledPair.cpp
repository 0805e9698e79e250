//===- ScheduledPair.cpp - Schedules of two halves ------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduledPair.h"
#include "../PassSupport.h"
#include "../Schedule/SchedulingPass.h"
#include "mlir/IR/Threading.h"

using namespace mlir;
using namespace mlir::commsched;

FailureOr<PairScheduler>
PairScheduler::create(PartitionHalves halves, int64_t besideBackwardBytes,
                      const SchedulingOptions &options) {
  PairScheduler result(halves, besideBackwardBytes);
  for (func::FuncOp half : {halves.forward, halves.backward}) {
    FailureOr<std::shared_ptr<CostAnalysis>> pricing =
        createPricing(half, options);
    if (failed(pricing))
      return failure();
    std::string reason;
    FailureOr<std::optional<BlockScheduler>> scheduler = BlockScheduler::create(
        half, half.getBody().front(), options, *pricing,
        [&](Location, StringRef text) { reason = text.str(); });
    if (failed(scheduler))
      return failure();
    if (!*scheduler)
      return emitError(half.getLoc(), "cannot be scheduled: ") << reason;
    result.schedulers.push_back(std::move(**scheduler));
  }
  return result;
}

FailureOr<BlockSchedule> PairScheduler::scheduleHalf(unsigned half,
                                                     int64_t limitBytes) {
  func::FuncOp function = half == 0 ? halves.forward : halves.backward;
  // A block without collectives keeps its order.
  if (!llvm::is_contained(getBlocksWithCollectives(function),
                          &function.getBody().front()))
    return schedulers[half].getProgram();
  return schedulers[half].schedule(limitBytes);
}

FailureOr<PairSchedule> PairScheduler::schedule(int64_t limitBytes) {
  int64_t limits[] = {limitBytes,
                      getBackwardLimit(limitBytes, besideBackwardBytes)};
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
  PairSchedule result;
  result.limitBytes = limitBytes;
  result.peakBytes = std::max(forward.step.peakBytes,
                              backward.step.peakBytes + besideBackwardBytes);
  result.stepNs = forward.step.stepNs + backward.step.stepNs;
  result.exposedNs = forward.exposedNs + backward.exposedNs;
  result.numCollectives = forward.numCollectives + backward.numCollectives;
  return result;
}
