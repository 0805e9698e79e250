//===- SchedulePass.cpp - Pass that schedules blocks ----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../BlockScheduling.h"
#include "../Remarks.h"
#include "CommSched/Analysis/Costs/TargetSpec.h"
#include "CommSched/Support/OptionErrors.h"
#include "Frontier.h"
#include "ScheduleRemarks.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_SCHEDULE
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

static_assert(schedule::StepSchedulerOptions::defaultSlackPercent == 40,
              "Schedule.td repeats the default of the option `slack`");

namespace {

/// A block with the schedule that it is to get.
struct ScheduledBlock {
  BlockScheduler scheduler;
  int64_t limitBytes;
  BlockSchedule schedule;
};

struct Schedule : mlir::commsched::impl::ScheduleBase<Schedule> {
  using ScheduleBase::ScheduleBase;

  LogicalResult initialize(MLIRContext *context) override;
  void runOnOperation() override;

private:
  std::optional<std::string> findBadOption();
  /// What came of applying schedules.
  enum class Application { Nothing, Done, Broken };

  /// Decides on every block, and changes none. Without those that lack a size.
  FailureOr<std::vector<ScheduledBlock>> decide(ArrayRef<Block *> blocks,
                                                ScheduleBuckets buckets);
  FailureOr<Application> apply(ArrayRef<ScheduledBlock> blocks);
  /// Says what is still exposed in schedules that merge nothing (more).
  LogicalResult remarkExposed(ArrayRef<ScheduledBlock> blocks);
  /// Sweeps the function's budget for the file, if it has one.
  LogicalResult addFrontier(MutableArrayRef<ScheduledBlock> blocks);

  StepScheduling scheduling;
  std::optional<std::string> optionError;
  /// Shared with the copies of this pass that run at the same time.
  std::shared_ptr<FrontierFile> frontierFile;
};

} // namespace

std::optional<std::string> Schedule::findBadOption() {
  auto explain = [&](const llvm::cl::Option &option, const Twine &what) {
    return makeOptionError(*this, option, what);
  };
  if (std::optional<std::string> error =
          parseMemoryBudget(memoryBudget, scheduling.budget))
    return explain(memoryBudget, *error);
  constexpr int32_t mostSlack = 1000;
  if (slack < 0 || slack > mostSlack)
    return explain(slack, "must be a percentage from 0 to " + Twine(mostSlack) +
                              ", but is " + Twine(slack));
  if (OptionalError error = check(scheduling.contention))
    return explain(computeSlowdown, *error);
  llvm::Expected<std::shared_ptr<const cost::MeasuredTable>> loaded =
      loadProfile(profile, ("pass '" + getArgument() + "'").str());
  if (!loaded)
    return llvm::toString(loaded.takeError());
  scheduling.profile = std::move(*loaded);
  return std::nullopt;
}

LogicalResult Schedule::initialize(MLIRContext *context) {
  scheduling = {};
  scheduling.isStrict = strict;
  scheduling.buckets = buckets;
  scheduling.isBitwise = bitwise;
  scheduling.slackPercent = slack;
  scheduling.contention.exclusiveGroups = exclusiveGroups;
  scheduling.contention.linkSharing = linkSharing;
  scheduling.contention.computeSlowdown = computeSlowdown;
  optionError = findBadOption();
  frontierFile =
      frontier.empty() ? nullptr : std::make_shared<FrontierFile>(frontier);
  return success();
}

FailureOr<std::vector<ScheduledBlock>>
Schedule::decide(ArrayRef<Block *> blocks, ScheduleBuckets buckets) {
  func::FuncOp function = getOperation();
  auto pricing = std::make_shared<CostAnalysis>(
      function, scheduling.profile.get(), getPresetName(target));
  if (!pricing->getCosts())
    return failure();
  std::vector<ScheduledBlock> decided;
  for (Block *block : blocks) {
    FailureOr<std::optional<BlockScheduler>> scheduler =
        BlockScheduler::create(function, *block, scheduling, buckets, pricing);
    if (failed(scheduler))
      return failure();
    if (!*scheduler)
      continue;
    int64_t limitBytes = (*scheduler)->getLimitBytes(scheduling.budget);
    FailureOr<BlockSchedule> schedule = (*scheduler)->schedule(limitBytes);
    if (failed(schedule))
      return failure();
    if (scheduling.isStrict && !schedule->step.fits(limitBytes))
      return emitError(function.getLoc(), "cannot be scheduled: ")
             << explainExcess((*scheduler)->getProblem().getProblem(),
                              schedule->step.peakBytes, limitBytes);
    decided.push_back(
        {std::move(**scheduler), limitBytes, std::move(*schedule)});
  }
  return decided;
}

LogicalResult Schedule::addFrontier(MutableArrayRef<ScheduledBlock> blocks) {
  func::FuncOp function = getOperation();
  Frontier points{llvm::json::fixUTF8(function.getSymName()), {}};
  for (ScheduledBlock &block : blocks) {
    if (!isBody(function, block.scheduler.getBlock())) {
      remark::missed(function.getLoc(),
                     makeRemark("BlockNotInFrontier", function.getSymName()))
          << "the frontier is without a block that is not the only one of the "
             "function's body";
      continue;
    }
    FailureOr<std::vector<FrontierPoint>> swept =
        sweepBudgets(block.scheduler, block.schedule, block.limitBytes);
    if (failed(swept))
      return failure();
    points.points = std::move(*swept);
  }
  return frontierFile->add(function, std::move(points));
}

/// Applies the schedules. What was merged is scheduled once more as it stands
/// then, and has to keep what it promised.
FailureOr<Schedule::Application>
Schedule::apply(ArrayRef<ScheduledBlock> blocks) {
  Application application = Application::Nothing;
  for (const ScheduledBlock &block : blocks) {
    FailureOr<bool> changed = block.scheduler.apply(block.schedule);
    if (failed(changed))
      return failure();
    if (*changed)
      application = Application::Done;
  }
  std::vector<ScheduledBlock> afterMerging;
  for (const ScheduledBlock &block : blocks) {
    if (!block.schedule.buckets)
      continue;
    FailureOr<std::vector<ScheduledBlock>> again =
        decide({&block.scheduler.getBlock()}, ScheduleBuckets::Off);
    if (failed(again))
      return failure();
    if (again->empty())
      return Application::Broken;
    ScheduledBlock &settled = again->front();
    const schedule::StepSchedule &promised = block.schedule.step;
    const schedule::StepSchedule &kept = settled.schedule.step;
    if (kept.stepNs > promised.stepNs ||
        (promised.fits(block.limitBytes) && !kept.fits(block.limitBytes)))
      return Application::Broken;
    if (failed(settled.scheduler.apply(settled.schedule)))
      return failure();
    afterMerging.push_back(std::move(settled));
  }
  if (failed(remarkExposed(blocks)) || failed(remarkExposed(afterMerging)))
    return failure();
  return application;
}

LogicalResult Schedule::remarkExposed(ArrayRef<ScheduledBlock> blocks) {
  func::FuncOp function = getOperation();
  if (!areRemarksEnabled(function))
    return success();
  for (const ScheduledBlock &block : blocks)
    if (!block.schedule.buckets &&
        failed(remarkExposure(function, block.scheduler, block.schedule,
                              block.limitBytes)))
      return failure();
  return success();
}

void Schedule::runOnOperation() {
  func::FuncOp function = getOperation();
  if (failed(emitOptionError(function, optionError)))
    return signalPassFailure();
  SmallVector<Block *> toSchedule = getBlocksWithCollectives(function);
  FailureOr<std::vector<ScheduledBlock>> blocks =
      decide(toSchedule, scheduling.buckets);
  if (failed(blocks) || (frontierFile && failed(addFrontier(*blocks))))
    return signalPassFailure();
  auto isMerged = [](const ScheduledBlock &block) {
    return block.schedule.buckets != nullptr;
  };
  OwningOpRef<func::FuncOp> original;
  if (llvm::any_of(*blocks, isMerged))
    original = function.clone();
  auto remarkAll = [&] {
    if (areRemarksEnabled(function))
      for (const ScheduledBlock &block : *blocks) {
        remarkSchedule(function, block.scheduler, block.schedule,
                       block.limitBytes);
        remarkMerging(function, block.scheduler, block.schedule,
                      block.limitBytes);
      }
  };
  remarkAll();
  FailureOr<Application> application = apply(*blocks);
  if (succeeded(application) && *application == Application::Broken) {
    // Everything as it was, and without buckets.
    function.getBody().takeBody(original->getBody());
    function->setAttrs(original->getOperation()->getAttrDictionary());
    toSchedule = getBlocksWithCollectives(function);
    blocks = decide(toSchedule, ScheduleBuckets::Off);
    if (failed(blocks))
      return signalPassFailure();
    remark::missed(function.getLoc(),
                   makeRemark("BucketsUndone", function.getSymName()))
        << "merging did not give the step or the memory that it promised, so "
           "nothing is merged";
    remarkAll();
    application = apply(*blocks);
  }
  if (failed(application))
    return signalPassFailure();
  if (*application == Application::Nothing)
    markAllAnalysesPreserved();
}
