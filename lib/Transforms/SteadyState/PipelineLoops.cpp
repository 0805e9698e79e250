//===- PipelineLoops.cpp - Pass that overlaps iterations of loops ---------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Bucketing/BlockBucketer.h"
#include "../PassSupport.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Support/Unlimited.h"
#include "CyclicPass.h"
#include "LoopMemory.h"
#include "LoopRewrite.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/ScopeExit.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_PIPELINELOOPS
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

/// A copy of a loop with its schedule.
struct MergedLoop {
  scf::ForOp loop;
  ScheduledLoop scheduled;
};

struct PipelineLoops
    : CyclicPass<mlir::commsched::impl::PipelineLoopsBase<PipelineLoops>> {
  using CyclicPass::CyclicPass;

  void runOnOperation() override;

private:
  FailureOr<std::optional<ScheduledLoop>>
  schedule(scf::ForOp loop, OperationCosts &costs, const LoopMemory &memory);
  /// Returns a copy of the loop, behind it, whose gathers are merged, with its
  /// schedule, if that is better than `scheduled`.
  FailureOr<std::optional<MergedLoop>>
  mergeGathersOf(scf::ForOp loop, const ScheduledLoop &scheduled,
                 OperationCosts &costs);
  /// Returns whether the loop was changed.
  FailureOr<bool> pipeline(scf::ForOp loop, OperationCosts &costs,
                           const LoopMemory &memory);
  void remarkKept(scf::ForOp loop, Location location, const Twine &reason);
  /// The loop is in its schedule: always, or from `leastCount` iterations on.
  void remarkPipelined(Location location, const ScheduledLoop &original,
                       const ScheduledLoop &scheduled,
                       std::optional<int64_t> count,
                       std::optional<int64_t> leastCount);
};

} // namespace

void PipelineLoops::remarkKept(scf::ForOp loop, Location location,
                               const Twine &reason) {
  remark::missed(location, makeRemark("LoopKept", getOperation().getSymName()))
      << ("the loop keeps its iterations apart: " + reason).str();
}

void PipelineLoops::remarkPipelined(Location location,
                                    const ScheduledLoop &original,
                                    const ScheduledLoop &scheduled,
                                    std::optional<int64_t> count,
                                    std::optional<int64_t> leastCount) {
  const CyclicSchedule &before = original.program;
  const CyclicSchedule &after = scheduled.schedule;
  int64_t depth = after.order.depth();
  auto record = remark::passed(
      location, makeRemark("LoopPipelined", getOperation().getSymName()));
  record << ("an iteration takes " + Twine(after.periodNs) + " ns instead of " +
             Twine(before.periodNs) + ", of at least " +
             Twine(scheduled.bound.ns) + ", with " + Twine(depth) +
             " iterations in progress, and " + Twine(after.peakBytes) +
             " bytes instead of " + Twine(before.peakBytes) +
             ", for a budget of " + Twine(scheduled.limitBytes) +
             (leastCount ? ", where it has " + Twine(*leastCount) +
                               " iterations or more"
                         : ""))
                .str()
         << remark::metric("PeriodNsBefore", before.periodNs)
         << remark::metric("PeriodNsAfter", after.periodNs)
         << remark::metric("PeriodBoundNs", scheduled.bound.ns)
         << remark::metric("Depth", depth)
         << remark::metric("PeakBytesBefore", before.peakBytes)
         << remark::metric("PeakBytesAfter", after.peakBytes)
         << remark::metric("OuterBytes", scheduled.outerBytes)
         << remark::metric("BudgetBytes", scheduled.limitBytes);
  if (leastCount)
    record << remark::metric("LeastCount", *leastCount);
  if (count)
    record << remark::metric("RunNsBefore",
                             original.computeRunNs(before, *count))
           << remark::metric("RunNsAfter",
                             scheduled.computeRunNs(after, *count));
}

/// The number of iterations, if it is known; of very many, some.
static std::optional<int64_t> getCount(scf::ForOp loop) {
  // Of more iterations only the number of periods differs.
  constexpr uint64_t maxCount = 1 << 20;
  if (std::optional<APInt> count = loop.getStaticTripCount())
    return static_cast<int64_t>(count->getLimitedValue(maxCount));
  return std::nullopt;
}

/// Why the schedule of a loop, of so many iterations if that is known, is not
/// taken, or nothing.
static std::optional<std::string> findObstacle(const ScheduledLoop &scheduled,
                                               std::optional<int64_t> count) {
  const CyclicSchedule &before = scheduled.program;
  const CyclicSchedule &after = scheduled.schedule;
  if (after.peakBytes > scheduled.limitBytes)
    return ("no order fits: the one that needs least takes " +
            Twine(after.peakBytes) + " bytes, of " +
            Twine(scheduled.limitBytes))
        .str();
  if (count && *count < after.order.depth())
    return ("it has " + Twine(*count) + " iterations, and " +
            Twine(after.order.depth()) + " would be in progress at once")
        .str();
  std::string ending = (" ns, and nothing that fits " +
                        Twine(scheduled.limitBytes) + " bytes is shorter")
                           .str();
  if (!count) {
    if (scheduled.findLeastCount())
      return std::nullopt;
    return ("an iteration takes " + Twine(before.periodNs) + ending).str();
  }
  int64_t beforeNs = scheduled.computeRunNs(before, *count);
  if (scheduled.computeRunNs(after, *count) < beforeNs)
    return std::nullopt;
  return ("its " + Twine(*count) + " iterations take " + Twine(beforeNs) +
          ending)
      .str();
}

/// Puts the loop into its schedule, and pins the time of the periods, which is
/// less than the sum of what is in them.
static LogicalResult applyAndPin(scf::ForOp loop,
                                 const ScheduledLoop &scheduled) {
  FailureOr<scf::ForOp> kernel = applySchedule(loop, scheduled);
  if (failed(kernel))
    return failure();
  std::optional<APInt> count = kernel->getStaticTripCount();
  if (!count)
    return success();
  bool overflows = false;
  APInt ns = count->zextOrTrunc(64).smul_ov(
      APInt(64, scheduled.schedule.periodNs), overflows);
  if (!overflows && !ns.isNegative())
    (*kernel)->setAttr(
        runtimeNsAttrName,
        IntegerAttr::get(IntegerType::get(kernel->getContext(), 64), ns));
  return success();
}

/// Why MLIR's pipeliner does not support the loop, or nothing.
static std::optional<std::string> findUnsupported(scf::ForOp loop) {
  if (loop.getUnsignedCmp())
    return "its bounds are compared without sign";
  for (auto [index, value] : llvm::enumerate(loop.getYieldedValues())) {
    auto argument = dyn_cast<BlockArgument>(value);
    // LoopProblem declines arguments of another number.
    bool isSame = argument && argument == loop.getRegionIterArg(index);
    if (isSame || loop.isDefinedOutsideOfLoop(value))
      return ("it yields value " + Twine(index) +
              " without computing it; canonicalize it before")
          .str();
  }
  return std::nullopt;
}

FailureOr<std::optional<ScheduledLoop>>
PipelineLoops::schedule(scf::ForOp loop, OperationCosts &costs,
                        const LoopMemory &memory) {
  LoopSchedulingOptions within = options;
  if (std::optional<int64_t> peakBytes = memory.getPeakAround(loop))
    within.budget.bytes = getBudgetBytes(options.budget, *peakBytes);
  return scheduleLoop(loop, memory.getOuterBytes(loop), costs, within,
                      [&](Location where, StringRef reason) {
                        remarkKept(loop, where, reason);
                      });
}

FailureOr<std::optional<MergedLoop>>
PipelineLoops::mergeGathersOf(scf::ForOp loop, const ScheduledLoop &scheduled,
                              OperationCosts &costs) {
  using Outcome = std::optional<MergedLoop>;
  // Merging saves time of streams only.
  if (!mergeGathers || scheduled.bound.kind == PeriodBoundKind::Computation)
    return Outcome();
  OpBuilder builder(loop->getContext());
  builder.setInsertionPointAfter(loop);
  auto copy = cast<scf::ForOp>(builder.clone(*loop));
  llvm::scope_exit erase([&] { copy.erase(); });
  BucketingPassOptions merging;
  merging.modes = {BucketMode::Coalesced, BucketMode::Copy};
  merging.capBytes = {unlimited};
  merging.profile = measured;
  FailureOr<bool> merged =
      bucketCollectivesIn(*copy.getBody(), getOperation(), merging, costs);
  if (failed(merged))
    return failure();
  if (!*merged)
    return Outcome();
  LoopSchedulingOptions within = options;
  within.budget.bytes = scheduled.limitBytes + scheduled.outerBytes;
  FailureOr<std::optional<ScheduledLoop>> other = scheduleLoop(
      copy, scheduled.outerBytes, costs, within, [](Location, StringRef) {});
  if (failed(other))
    return failure();
  std::optional<int64_t> count = getCount(loop);
  if (!*other || findObstacle(**other, count))
    return Outcome();
  auto getNs = [&](const ScheduledLoop &of) {
    return count ? of.computeRunNs(of.schedule, *count) : of.schedule.periodNs;
  };
  if (!findObstacle(scheduled, count) &&
      !isWorthMerging(getNs(**other), getNs(scheduled)))
    return Outcome();
  erase.release();
  return Outcome(MergedLoop{copy, std::move(**other)});
}

FailureOr<bool> PipelineLoops::pipeline(scf::ForOp loop, OperationCosts &costs,
                                        const LoopMemory &memory) {
  Location location = loop.getLoc();
  if (std::optional<std::string> reason = findUnsupported(loop)) {
    remarkKept(loop, location, *reason);
    return false;
  }
  FailureOr<std::optional<ScheduledLoop>> original =
      schedule(loop, costs, memory);
  if (failed(original))
    return failure();
  if (!*original)
    return false;
  FailureOr<std::optional<MergedLoop>> merged =
      mergeGathersOf(loop, **original, costs);
  if (failed(merged))
    return failure();
  std::optional<int64_t> count = getCount(loop), leastCount;
  const ScheduledLoop &best = *merged ? (*merged)->scheduled : **original;
  if (std::optional<std::string> obstacle = findObstacle(best, count)) {
    remarkKept(loop, location, *obstacle);
    return false;
  }
  if (*merged) {
    loop.replaceAllUsesWith((*merged)->loop.getResults());
    loop.erase();
    loop = (*merged)->loop;
  }
  if (!count)
    leastCount = best.findLeastCount();
  LogicalResult applied = leastCount
                              ? applyGuardedSchedule(loop, best, *leastCount)
                              : applyAndPin(loop, best);
  if (failed(applied))
    return emitError(location) << "MLIR's pipeliner does not take its schedule";
  remarkPipelined(location, **original, best, count, leastCount);
  return true;
}

void PipelineLoops::runOnOperation() {
  func::FuncOp function = getOperation();
  if (failed(emitOptionError(function, optionError)))
    return signalPassFailure();
  CostAnalysis analysis(function, measured.get(), getPresetName(target));
  OperationCosts *costs = analysis.getCosts();
  if (!costs)
    return signalPassFailure();
  SmallVector<scf::ForOp> loops;
  for (Block *block : getBlocksWithCollectives(function))
    if (auto loop = dyn_cast<scf::ForOp>(block->getParentOp()))
      loops.push_back(loop);
  FailureOr<LoopMemory> memory = LoopMemory::create(function, loops, *costs);
  if (failed(memory))
    return signalPassFailure();
  bool isChanged = false;
  for (scf::ForOp loop : loops) {
    FailureOr<bool> pipelined = pipeline(loop, *costs, *memory);
    if (failed(pipelined))
      return signalPassFailure();
    isChanged |= *pipelined;
  }
  if (!isChanged)
    markAllAnalysesPreserved();
}
