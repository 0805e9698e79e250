//===- SchedulePass.cpp - Pass that schedules blocks ----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "BlockScheduler.h"
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
              "Schedule.td names the slack without a profile");

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct Schedule
    : SchedulingPass<mlir::commsched::impl::ScheduleBase<Schedule>> {
  using SchedulingPass::SchedulingPass;

  void runOnOperation() override;

protected:
  std::optional<std::string> readOwnOptions() override;

private:
  bool isScheduled(Block &block);
  /// Decides on a block, and does not change it. None if a
  /// collective is in flight across its boundary.
  FailureOr<std::optional<DecidedBlock>> decide(Block &block);
};

} // namespace

/// Reads what the budget limits, and takes off what is held beside the program.
std::optional<std::string> Schedule::readOwnOptions() {
  scheduling.refusesAssumptions = strict;
  int64_t otherBytes = 0;
  if (std::optional<std::string> error =
          parseByteCount(reservedBytes, otherBytes))
    return makeOptionError(*this, reservedBytes, *error);
  std::optional<int64_t> &bytes = scheduling.budget.bytes;
  std::string needsBytes = "needs a memory budget in bytes, but option "
                           "'memory-budget' is '" +
                           memoryBudget.getValue() + "'";
  if (otherBytes > 0 && !bytes)
    return makeOptionError(*this, reservedBytes, needsBytes);
  if (bytes && otherBytes > *bytes)
    return makeOptionError(*this, reservedBytes,
                           "is " + Twine(otherBytes) +
                               " bytes, more than the memory budget of " +
                               Twine(*bytes));
  if (bytes)
    *bytes -= otherBytes;
  if (budgetOn == BudgetOn::Reserved && !bytes)
    return makeOptionError(*this, budgetOn,
                           "is 'reserved', which " + needsBytes);
  return readAllocatorOptions();
}

bool Schedule::isScheduled(Block &block) {
  bool isNested = block.getParentOp() != getOperation();
  return blocks == ScheduledBlocks::All ||
         isNested == (blocks == ScheduledBlocks::Nested);
}

FailureOr<std::optional<DecidedBlock>> Schedule::decide(Block &block) {
  using Outcome = std::optional<DecidedBlock>;
  func::FuncOp function = getOperation();
  FailureOr<std::unique_ptr<BlockScheduler>> scheduler =
      BlockScheduler::create(function, block, scheduling, /*decline=*/nullptr);
  if (failed(scheduler))
    return failure();
  if (!*scheduler)
    return Outcome();
  FailureOr<BlockSchedule> schedule = (*scheduler)->scheduleWithinBudget();
  if (failed(schedule))
    return failure();
  if (strict && !schedule->fits())
    return emitError(function.getLoc(), "cannot be scheduled: ")
           << explainOverBudget((*scheduler)->getProblem().getProblem(),
                                *schedule);
  return Outcome(DecidedBlock{std::move(*scheduler), std::move(*schedule)});
}

void Schedule::runOnOperation() {
  func::FuncOp function = getOperation();
  if (failed(emitOptionError(function, optionError)))
    return signalPassFailure();
  // A block comes behind those in its operations, whose times it counts.
  FailureOr<bool> isChanged = rewriteBlocks(
      getBlocksWithCollectives(function), [&](Block &block) -> FailureOr<bool> {
        if (!isScheduled(block))
          return false;
        FailureOr<std::optional<DecidedBlock>> decided = decide(block);
        if (failed(decided))
          return failure();
        if (areRemarksEnabled(function))
          remarkBarriers(function, block);
        if (!*decided)
          return false;
        return applyDecision(function, **decided, scheduling);
      });
  if (failed(isChanged))
    signalPassFailure();
  else if (!*isChanged)
    markAllAnalysesPreserved();
}
