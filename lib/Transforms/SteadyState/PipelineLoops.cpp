//===- PipelineLoops.cpp - Pass that overlaps iterations of loops ---------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CyclicPass.h"
#include "LoopRewrite.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_PIPELINELOOPS
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

struct PipelineLoops
    : CyclicPass<mlir::commsched::impl::PipelineLoopsBase<PipelineLoops>> {
  using CyclicPass::CyclicPass;

  void runOnOperation() override;

private:
  /// The bytes that are live around the loop while it runs.
  FailureOr<int64_t> computeOuterBytes(scf::ForOp loop);
  /// Puts the loop into its schedule, if that pays.
  LogicalResult apply(scf::ForOp loop, const ScheduledLoop &scheduled);
  /// Returns whether the loop was changed.
  FailureOr<bool> pipeline(scf::ForOp loop, OperationCosts &costs);
  void remarkKept(scf::ForOp loop, Location location, const Twine &reason);
  /// The loop of `count` iterations is in its schedule, or a loop whose number
  /// is not known, from `leastCount` iterations on.
  void remarkPipelined(Location location, const ScheduledLoop &scheduled,
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
                                    const ScheduledLoop &scheduled,
                                    std::optional<int64_t> count,
                                    std::optional<int64_t> leastCount) {
  const CyclicSchedule &before = scheduled.program;
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
                             scheduled.computeRunNs(before, *count))
           << remark::metric("RunNsAfter",
                             scheduled.computeRunNs(after, *count));
}

FailureOr<int64_t> PipelineLoops::computeOuterBytes(scf::ForOp loop) {
  // What is live around inner loops is not known, and counts as nothing.
  Block &block = *loop->getBlock();
  if (!isBody(getOperation(), block))
    return 0;
  FailureOr<BlockProblem> problem = BlockProblem::create(
      block, [](Operation *) { return 0; }, StreamOrder::Free);
  if (failed(problem))
    return failure();
  const Problem &known = problem->getProblem();
  Result<MemoryTimeline> memory = simulateMemory(known, known.programOrder());
  if (!memory)
    return emitError(loop.getLoc())
           << "cannot be scheduled: " << memory.error();
  NodeId node = 0;
  while (problem->getOperation(node) != loop)
    ++node;
  // What the loop returns is what its last iteration makes.
  int64_t bytes = memory->allocatedBytes[node];
  for (BufferId id : known.buffersMadeBy(node))
    bytes -= known.buffer(id).bytes;
  return bytes;
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
  const CyclicSchedule &after = scheduled.schedule;
  if (after.peakBytes > scheduled.limitBytes)
    return ("no order fits: the one that needs least takes " +
            Twine(after.peakBytes) + " bytes, of " +
            Twine(scheduled.limitBytes))
        .str();
  if (!count)
    return std::nullopt;
  if (*count < after.order.depth())
    return ("it has " + Twine(*count) + " iterations, and " +
            Twine(after.order.depth()) + " would be in progress at once")
        .str();
  int64_t beforeNs = scheduled.computeRunNs(scheduled.program, *count);
  if (scheduled.computeRunNs(after, *count) < beforeNs)
    return std::nullopt;
  return ("its " + Twine(*count) + " iterations take " + Twine(beforeNs) +
          " ns, and nothing that fits " + Twine(scheduled.limitBytes) +
          " bytes is shorter")
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

LogicalResult PipelineLoops::apply(scf::ForOp loop,
                                   const ScheduledLoop &scheduled) {
  Location location = loop.getLoc();
  auto keep = [&](const Twine &reason) {
    remarkKept(loop, location, reason);
    return failure();
  };
  std::optional<int64_t> count = getCount(loop), leastCount;
  if (std::optional<std::string> obstacle = findObstacle(scheduled, count))
    return keep(*obstacle);
  if (!count)
    leastCount = scheduled.findLeastCount();
  if (!count && !leastCount)
    return keep("an iteration takes " + Twine(scheduled.program.periodNs) +
                " ns, and nothing that fits " + Twine(scheduled.limitBytes) +
                " bytes is shorter");
  LogicalResult applied =
      leastCount ? applyGuardedSchedule(loop, scheduled, *leastCount)
                 : applyAndPin(loop, scheduled);
  if (failed(applied))
    return keep("its form is not supported by the pipeliner");
  remarkPipelined(location, scheduled, count, leastCount);
  return success();
}

FailureOr<bool> PipelineLoops::pipeline(scf::ForOp loop,
                                        OperationCosts &costs) {
  if (loop.getUnsignedCmp()) {
    remarkKept(loop, loop.getLoc(), "its bounds are compared without sign");
    return false;
  }
  FailureOr<int64_t> outerBytes = computeOuterBytes(loop);
  if (failed(outerBytes))
    return failure();
  FailureOr<std::optional<ScheduledLoop>> scheduled = scheduleLoop(
      loop, *outerBytes, costs, options, [&](Location where, StringRef reason) {
        remarkKept(loop, where, reason);
      });
  if (failed(scheduled))
    return failure();
  return *scheduled && succeeded(apply(loop, **scheduled));
}

void PipelineLoops::runOnOperation() {
  func::FuncOp function = getOperation();
  if (failed(emitOptionError(function, optionError)))
    return signalPassFailure();
  CostAnalysis analysis(function, measured.get(), getPresetName(target));
  OperationCosts *costs = analysis.getCosts();
  if (!costs)
    return signalPassFailure();
  bool isChanged = false;
  for (Block *block : getBlocksWithCollectives(function)) {
    auto loop = dyn_cast<scf::ForOp>(block->getParentOp());
    if (!loop)
      continue;
    FailureOr<bool> pipelined = pipeline(loop, *costs);
    if (failed(pipelined))
      return signalPassFailure();
    isChanged |= *pipelined;
  }
  if (!isChanged)
    markAllAnalysesPreserved();
}
