//===- SchedulePass.cpp - Pass that schedules blocks ----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "ScheduleRemarks.h"
#include "SchedulingPass.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_SCHEDULE
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

static_assert(schedule::StepSchedulerOptions::defaultSlackPercent == 40,
              "Schedule.td repeats the default of the option `slack`");

namespace {

/// A block with the schedule that was decided for it.
struct DecidedBlock {
  BlockScheduler scheduler;
  BlockSchedule schedule;
};

struct Schedule
    : SchedulingPass<mlir::commsched::impl::ScheduleBase<Schedule>> {
  using SchedulingPass::SchedulingPass;

  void runOnOperation() override;

private:
  /// Decides on every block, and changes none. Leaves out those of unknown
  /// sizes.
  FailureOr<std::vector<DecidedBlock>> decide();
  /// Emits the remarks on the decisions, before they are applied.
  void remarkDecisions(ArrayRef<DecidedBlock> blocks);
  /// Emits the remarks on the collectives that are exposed in the schedules,
  /// after they were applied.
  LogicalResult remarkExposed(ArrayRef<DecidedBlock> blocks);
};

} // namespace

FailureOr<std::shared_ptr<CostAnalysis>>
mlir::commsched::createPricing(func::FuncOp function,
                               const SchedulingOptions &options) {
  auto pricing = std::make_shared<CostAnalysis>(function, options.profile.get(),
                                                getPresetName(options.target));
  if (!pricing->getCosts())
    return failure();
  return pricing;
}

FailureOr<std::vector<DecidedBlock>> Schedule::decide() {
  func::FuncOp function = getOperation();
  FailureOr<std::shared_ptr<CostAnalysis>> pricing =
      createPricing(function, scheduling);
  if (failed(pricing))
    return failure();
  std::vector<DecidedBlock> decided;
  for (Block *block : getBlocksWithCollectives(function)) {
    FailureOr<std::optional<BlockScheduler>> scheduler =
        BlockScheduler::create(function, *block, scheduling, *pricing,
                               [&](Location location, StringRef reason) {
                                 remarkBlockKept(function, location, reason);
                               });
    if (failed(scheduler))
      return failure();
    if (!*scheduler)
      continue;
    FailureOr<BlockSchedule> schedule =
        (*scheduler)->schedule((*scheduler)->getLimitBytes(scheduling.budget));
    if (failed(schedule))
      return failure();
    if (strict && !schedule->fits())
      return emitError(function.getLoc(), "cannot be scheduled: ")
             << explainExcess((*scheduler)->getProblem().getProblem(),
                              schedule->step.peakBytes, schedule->limitBytes);
    decided.push_back({std::move(**scheduler), std::move(*schedule)});
  }
  return decided;
}

void Schedule::remarkDecisions(ArrayRef<DecidedBlock> blocks) {
  for (const DecidedBlock &block : blocks) {
    remarkSchedule(getOperation(), block.scheduler, block.schedule);
    remarkMerging(getOperation(), block.scheduler, block.schedule);
  }
}

LogicalResult Schedule::remarkExposed(ArrayRef<DecidedBlock> blocks) {
  func::FuncOp function = getOperation();
  for (const DecidedBlock &block : blocks)
    if (!block.schedule.buckets &&
        failed(remarkExposure(function, block.scheduler,
                              block.schedule.step.order,
                              block.schedule.limitBytes)))
      return failure();
  // Merged collectives are operations that the scheduler has not read.
  for (const DecidedBlock &block : blocks) {
    if (!block.schedule.buckets)
      continue;
    FailureOr<std::shared_ptr<CostAnalysis>> pricing =
        createPricing(function, scheduling);
    if (failed(pricing))
      return failure();
    FailureOr<std::optional<BlockScheduler>> merged =
        BlockScheduler::create(function, block.scheduler.getBlock(), scheduling,
                               *pricing, [](Location, StringRef) {});
    if (failed(merged))
      return failure();
    if (*merged && failed(remarkExposure(function, **merged,
                                         (*merged)->getProgram().step.order,
                                         block.schedule.limitBytes)))
      return failure();
  }
  return success();
}

void Schedule::runOnOperation() {
  if (failed(emitOptionError(getOperation(), optionError)))
    return signalPassFailure();
  FailureOr<std::vector<DecidedBlock>> blocks = decide();
  if (failed(blocks))
    return signalPassFailure();
  bool hasRemarks = areRemarksEnabled(getOperation());
  if (hasRemarks)
    remarkDecisions(*blocks);
  bool isChanged = false;
  for (const DecidedBlock &block : *blocks)
    isChanged |= block.scheduler.apply(block.schedule);
  if (hasRemarks && failed(remarkExposed(*blocks)))
    return signalPassFailure();
  if (!isChanged)
    markAllAnalysesPreserved();
}
