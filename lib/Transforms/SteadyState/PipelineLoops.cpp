//===- PipelineLoops.cpp - Pass that overlaps iterations of loops ---------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CyclicPass.h"
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
  /// Returns whether the loop was changed.
  FailureOr<bool> pipeline(scf::ForOp loop, OperationCosts &costs);
  void remarkKept(scf::ForOp loop, Location location, const Twine &reason);
  void remarkPipelined(Location location, const ScheduledLoop &scheduled);
};

} // namespace

void PipelineLoops::remarkKept(scf::ForOp loop, Location location,
                               const Twine &reason) {
  remark::missed(location, makeRemark("LoopKept", getOperation().getSymName()))
      << ("the loop keeps its iterations apart: " + reason).str();
}

/// The time of `count` iterations, in nanoseconds.
static int64_t computeRunNs(const ScheduledLoop &scheduled,
                            const CyclicSchedule &schedule, int64_t count) {
  // Few iterations are simulated; of more, only the first ones differ.
  constexpr int64_t maxSimulated = 64;
  int64_t simulated = std::min(count, maxSimulated);
  return simulateRun(scheduled.problem.getProblem(), schedule.order,
                     static_cast<int32_t>(simulated)) +
         schedule.periodNs * (count - simulated);
}

/// Whether a collective starts in one iteration and is waited for in the next.
static bool hasFlightsOverBoundary(const ScheduledLoop &scheduled) {
  const Problem &body = scheduled.problem.getProblem().body();
  const std::vector<int32_t> &stages = scheduled.schedule.order.stages;
  for (NodeId node = 0; node < body.numNodes(); ++node)
    if (NodeId wait = body.waitOf(node);
        wait != noNode && stages[wait] != stages[node])
      return true;
  return false;
}

void PipelineLoops::remarkPipelined(Location location,
                                    const ScheduledLoop &scheduled) {
  const CyclicSchedule &before = scheduled.program;
  const CyclicSchedule &after = scheduled.schedule;
  int64_t depth = after.order.depth();
  remark::passed(location,
                 makeRemark("LoopPipelined", getOperation().getSymName()))
      << ("an iteration takes " + Twine(after.periodNs) + " ns instead of " +
          Twine(before.periodNs) + ", of at least " +
          Twine(scheduled.bound.ns) + ", with " + Twine(depth) +
          " iterations in progress, and " + Twine(after.peakBytes) +
          " bytes instead of " + Twine(before.peakBytes) +
          ", for a budget of " + Twine(scheduled.limitBytes))
             .str()
      << remark::metric("PeriodNsBefore", before.periodNs)
      << remark::metric("PeriodNsAfter", after.periodNs)
      << remark::metric("PeriodBoundNs", scheduled.bound.ns)
      << remark::metric("Depth", depth)
      << remark::metric("PeakBytesBefore", before.peakBytes)
      << remark::metric("PeakBytesAfter", after.peakBytes)
      << remark::metric("BudgetBytes", scheduled.limitBytes);
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
  for (NodeId node = 0; node < known.numNodes(); ++node)
    if (problem->getOperation(node) == loop)
      return memory->allocatedBytes[node];
  return 0;
}

/// Why the schedule of a loop of so many iterations is not taken, or nothing.
static std::optional<std::string> findObstacle(const ScheduledLoop &scheduled,
                                               int64_t count) {
  const CyclicSchedule &after = scheduled.schedule;
  int64_t beforeNs = computeRunNs(scheduled, scheduled.program, count);
  if (after.peakBytes > scheduled.limitBytes)
    return ("no order fits: the one that needs least takes " +
            Twine(after.peakBytes) + " bytes, of " +
            Twine(scheduled.limitBytes))
        .str();
  if (count < after.order.depth())
    return ("it has " + Twine(count) + " iterations, and " +
            Twine(after.order.depth()) + " would be in progress at once")
        .str();
  if (computeRunNs(scheduled, after, count) < beforeNs)
    return std::nullopt;
  return ("its " + Twine(count) + " iterations take " + Twine(beforeNs) +
          " ns, and nothing that fits " + Twine(scheduled.limitBytes) +
          " bytes is shorter")
      .str();
}

FailureOr<bool> PipelineLoops::pipeline(scf::ForOp loop,
                                        OperationCosts &costs) {
  Location location = loop.getLoc();
  std::optional<APInt> count = loop.getStaticTripCount();
  if (!count) {
    remarkKept(loop, location, "the number of iterations is not known");
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
  if (!*scheduled)
    return false;
  // Of more iterations only the number of periods differs.
  constexpr uint64_t maxCount = 1 << 20;
  if (std::optional<std::string> obstacle = findObstacle(
          **scheduled,
          static_cast<int64_t>(count->getLimitedValue(maxCount)))) {
    remarkKept(loop, location, *obstacle);
    return false;
  }
  FailureOr<scf::ForOp> kernel = applySchedule(loop, **scheduled);
  if (failed(kernel)) {
    remarkKept(loop, location, "its form is not supported by the pipeliner");
    return false;
  }
  if (hasFlightsOverBoundary(**scheduled))
    (*kernel)->setAttr("commsched.pipelined", UnitAttr::get(&getContext()));
  remarkPipelined(location, **scheduled);
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
