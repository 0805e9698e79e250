//===- SchedulePass.cpp - Pass that schedules blocks ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "BudgetTrials.h"
#include "CommSched/Analysis/Joint/JointFunction.h"
#include "CommSched/Analysis/Problem/StorageAnalysis.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Support/Unlimited.h"
#include "SchedulingPass.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_SCHEDULE
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

static_assert(schedule::StepSchedulerOptions::defaultSlackPercent == 40,
              "Schedule.td names the slack without a profile");

namespace {

struct Schedule
    : RewritingPass<
          SchedulingPass<mlir::commsched::impl::ScheduleBase<Schedule>>> {
  using RewritingPass::RewritingPass;

protected:
  FailureOr<bool> rewrite() override;
  std::optional<std::string> readOwnOptions() override;

private:
  /// Decides on a block, and does not change it. None if a
  /// collective is in flight across its boundary.
  FailureOr<std::optional<DecidedBlock>> decide(Block &block);
  FailureOr<bool> reportBudget();
  LogicalResult chooseOptions();
  FailureOr<bool> scheduleOnce();

  /// What the function, whose body has been decided on, is over its budget by,
  /// and why.
  struct Excess {
    int64_t bytes = 0;
    std::string text;
  };
  /// Null until the body has been decided on.
  std::optional<Excess> excessOfBody;
  /// The options, with the budget that is best for the function.
  SchedulingOptions within;
  std::shared_ptr<CostAnalysis> pricing;
};

} // namespace

std::optional<std::string> Schedule::readOwnOptions() {
  scheduling.refusesAssumptions = strict;
  scheduling.overlapsLoops = pipelineLoops;
  return readReservedOptions();
}

FailureOr<std::optional<DecidedBlock>> Schedule::decide(Block &block) {
  using Outcome = std::optional<DecidedBlock>;
  func::FuncOp function = getOperation();
  FailureOr<std::unique_ptr<BlockScheduler>> scheduler = BlockScheduler::create(
      function, block, within, /*decline=*/nullptr, pricing);
  if (failed(scheduler))
    return failure();
  if (!*scheduler)
    return Outcome();
  FailureOr<BlockSchedule> schedule = (*scheduler)->scheduleWithinBudget();
  if (failed(schedule))
    return failure();
  std::string excess;
  if (!schedule->fits())
    excess = explainOverBudget(**scheduler, *schedule);
  if (strict && !schedule->fits())
    return emitError(function.getLoc(), "cannot be scheduled: ") << excess;
  if (isBody(function, block))
    excessOfBody = {schedule->fits()
                        ? 0
                        : schedule->getBytes() - schedule->getBudgetBytes(),
                    std::move(excess)};
  return Outcome(DecidedBlock{std::move(*scheduler), std::move(*schedule)});
}

/// Warns if the function is over its budget, or fails if that is an error, and
/// keeps by how much for reports. Returns whether that is new. One warning for
/// all blocks: what loops and branches take is in the peak of the body.
FailureOr<bool> Schedule::reportBudget() {
  func::FuncOp function = getOperation();
  if (!function.getBody().hasOneBlock())
    return false;
  if (!excessOfBody) {
    Block &body = function.front();
    int64_t peakBytes = simulateBlockMemory(body).peakBytes;
    int64_t limitBytes =
        BlockLimit(function, body, peakBytes).get(scheduling.budget);
    excessOfBody.emplace();
    if (peakBytes > limitBytes)
      excessOfBody = {peakBytes - limitBytes,
                      explainExcess(peakBytes, limitBytes)};
  }
  std::optional<int64_t> known = getOverBudgetBytes(function);
  if (excessOfBody->bytes == 0) {
    if (known)
      function->removeDiscardableAttr(overBudgetBytesAttrName);
    return known.has_value();
  }
  if (failed(reportOverBudget(function, memoryBudget, excessOfBody->bytes,
                              excessOfBody->text, strict)))
    return failure();
  return known != excessOfBody->bytes;
}

/// Finds the budget of the blocks that is best for the function.
LogicalResult Schedule::chooseOptions() {
  within = scheduling;
  pricing = nullptr;
  if (!pipelineLoops && getBlocksWithCollectives(getOperation()).empty())
    return success();
  CostAnalysis &costs = getAnalysis<CostAnalysis>();
  if (!costs.getCosts())
    return failure();
  // Of the pass manager, which keeps it.
  pricing = std::shared_ptr<CostAnalysis>(std::shared_ptr<void>(), &costs);
  FailureOr<SchedulingOptions> chosen =
      chooseBudget(getOperation(), scheduling, pricing);
  if (succeeded(chosen))
    within = *chosen;
  return chosen;
}

/// Overlaps loops, and decides on one block after the other. Returns whether
/// anything has changed.
FailureOr<bool> Schedule::scheduleOnce() {
  func::FuncOp function = getOperation();
  FailureOr<LoopChanges> loops = LoopChanges();
  if (within.overlapsLoops)
    loops = overlapLoops(function, within, *pricing->getCosts());
  if (failed(loops))
    return failure();
  // A block comes behind those in its operations, whose times it counts.
  FailureOr<bool> isChanged = rewriteBlocks(
      getBlocksWithCollectives(function), [&](Block &block) -> FailureOr<bool> {
        FailureOr<std::optional<DecidedBlock>> decided = decide(block);
        if (failed(decided))
          return failure();
        if (!*decided)
          return false;
        return applyDecision(function, **decided, within);
      });
  if (failed(isChanged))
    return failure();
  return loops->any || *isChanged;
}

FailureOr<bool> Schedule::rewrite() {
  func::FuncOp function = getOperation();
  excessOfBody.reset();
  if (isJointFunction(function))
    remark::missed(function.getLoc(),
                   makeRemark("JointWhole", function.getSymName()))
        << (saysForwardOutputs(function)
                ? "it is scheduled as one function: a memory budget in bytes "
                  "or 'activation-memory-budget' of commsched-pipeline splits "
                  "it"
                : "it is scheduled as one function: without "
                  "'commsched.num_forward_outputs' nothing splits it");
  if (failed(chooseOptions()))
    return failure();
  bool isChanged = false;
  for (bool isLast = false; !isLast;) {
    FailureOr<bool> isNew = scheduleOnce();
    if (failed(isNew))
      return failure();
    isChanged |= *isNew;
    FailureOr<std::optional<SchedulingOptions>> again =
        std::optional<SchedulingOptions>();
    if (*isNew && pricing)
      again = chooseAgain(function, scheduling, pricing);
    if (failed(again))
      return failure();
    isLast = !*again;
    if (!isLast)
      within = std::move(**again);
  }
  SmallVector<Block *> held = getBlocksWithCollectives(function);
  if (held.empty())
    return isChanged;
  if (areRemarksEnabled(function))
    for (Block *block : held)
      remarkBarriers(function, *block);
  FailureOr<bool> isBudgetNew = reportBudget();
  if (failed(isBudgetNew))
    return failure();
  return isChanged || *isBudgetNew;
}
