//===- ScheduledPair.cpp - Schedules of two halves ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "../Schedule/SchedulingPass.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Schedule/Bounds/LowerBounds.h"
#include "MemorySearch.h"
#include "mlir/IR/Threading.h"

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// What they take
//===----------------------------------------------------------------------===//

/// The problem of the body of `function`, and what is live while each of its
/// operations runs. Without `costs` nothing takes time.
static FailureOr<std::pair<BlockProblem, schedule::MemoryTimeline>>
measureBody(func::FuncOp function, OperationCosts *costs) {
  Block &body = function.getBody().front();
  FailureOr<BlockProblem> problem =
      costs ? priceBlock(body, *costs)
            : BlockProblem::create(body, StreamOrder::Free);
  if (failed(problem))
    return failure();
  if (std::optional<BlockObstacle> obstacle = getObstacle(*problem))
    return emitError(function.getLoc(), "cannot be fitted: @")
           << function.getName() << " is not simulated: " << obstacle->reason;
  Result<schedule::MemoryTimeline> memory = simulateMemory(
      problem->getProblem(), problem->getProblem().programOrder());
  if (!memory)
    return emitError(function.getLoc(), "cannot be simulated: ")
           << memory.error();
  return std::pair(std::move(*problem), std::move(*memory));
}

/// Adds what `half` takes by itself to `result`. Returns the bytes that are
/// live while each of its operations runs.
static FailureOr<std::vector<int64_t>>
addHalf(func::FuncOp half, OperationCosts &costs, PairCosts &result) {
  auto alone = measureBody(half, &costs);
  if (failed(alone))
    return failure();
  const schedule::Problem &problem = alone->first.getProblem();
  Result<schedule::TightLowerBound> bound = computeTightLowerBound(problem);
  if (!bound)
    return emitError(half.getLoc(), "cannot be scheduled: ") << bound.error();
  result.boundNs += bound->ns;
  for (schedule::NodeId node = 0; node < problem.numNodes(); ++node)
    if (problem.kind(node) == schedule::NodeKind::Compute)
      result.computeNs += problem.costNs(node);
  return std::move(alone->second.allocatedBytes);
}

FailureOr<PairCosts> mlir::commsched::computePairCosts(func::FuncOp joint,
                                                       PartitionHalves halves,
                                                       OperationCosts &costs) {
  OwningOpRef<func::FuncOp> step =
      joinHalves(joint, halves, /*mayRename=*/false);
  PairCosts result;
  std::vector<int64_t> whole, alone[2];
  // The whole has to be measured for its memory only, and prices are not for
  // two threads.
  auto measure = [&](size_t part) -> LogicalResult {
    if (part == 0) {
      auto measured = measureBody(*step, /*costs=*/nullptr);
      if (failed(measured))
        return failure();
      result.peakBytes = measured->second.peakBytes;
      whole = std::move(measured->second.allocatedBytes);
      return success();
    }
    for (unsigned index : {0, 1}) {
      FailureOr<std::vector<int64_t>> bytes =
          addHalf(index == 0 ? halves.forward : halves.backward, costs, result);
      if (failed(bytes))
        return failure();
      alone[index] = std::move(*bytes);
    }
    return success();
  };
  if (failed(failableParallelForEachN(joint.getContext(), 0, 2, measure)))
    return failure();
  ArrayRef<int64_t> beside = whole;
  for (unsigned index : {0, 1})
    for (int64_t bytes : alone[index]) {
      result.besideBytes[index] =
          std::max(result.besideBytes[index], beside.front() - bytes);
      beside = beside.drop_front();
    }
  return result;
}

FailureOr<StepReport> mlir::commsched::simulateHalves(
    func::FuncOp joint, PartitionHalves halves, OperationCosts &costs,
    std::optional<schedule::SegmentKind> allocator) {
  OwningOpRef<func::FuncOp> step =
      joinHalves(joint, halves, /*mayRename=*/true);
  std::string reason;
  FailureOr<std::optional<StepReport>> report =
      simulateFunction(*step, costs, reason, {allocator, /*withBounds=*/false});
  if (failed(report))
    return failure();
  if (!*report)
    return emitError(joint.getLoc(), "cannot be fitted: ") << reason;
  return std::move(**report);
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

FailureOr<std::unique_ptr<PairScheduler>>
PairScheduler::create(OwnedHalves halves, const PairCosts &costs,
                      const SchedulingOptions &options) {
  std::unique_ptr<PairScheduler> result(
      new PairScheduler(std::move(halves), costs, options));
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
  std::optional<BlockSchedule> schedules[2];
  MLIRContext *context = halves.forward.getContext();
  if (failed(failableParallelForEachN(context, 0, 2, [&](size_t half) {
        auto index = static_cast<unsigned>(half);
        FailureOr<BlockSchedule> schedule =
            scheduleHalf(index, getHalfLimit(index, limitBytes));
        if (succeeded(schedule))
          schedules[half] = std::move(*schedule);
        return LogicalResult(schedule);
      })))
    return failure();
  const BlockSchedule &forward = *schedules[0], &backward = *schedules[1];
  PairDecision result;
  PairSchedule &pair = result.schedule;
  pair.limitBytes = limitBytes;
  pair.peakBytes = std::max(forward.step.peakBytes + costs.besideBytes[0],
                            backward.step.peakBytes + costs.besideBytes[1]);
  pair.stepNs = forward.step.stepNs + backward.step.stepNs;
  pair.exposedNs = forward.exposedNs + backward.exposedNs;
  pair.numCollectives = forward.numCollectives + backward.numCollectives;
  for (std::optional<BlockSchedule> &schedule : schedules)
    result.halves.push_back(std::move(*schedule));
  return result;
}

bool PairScheduler::isAsNew(int64_t limitBytes) const {
  return llvm::all_of(llvm::seq(2u), [&](unsigned half) {
    return schedulers[half]->isAsNew(getHalfLimit(half, limitBytes));
  });
}

LogicalResult PairScheduler::apply(PairDecision decision) {
  for (unsigned half : {0, 1}) {
    getHalf(half)->setDiscardableAttr(
        besideBytesAttrName, Builder(getHalf(half).getContext())
                                 .getI64IntegerAttr(costs.besideBytes[half]));
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
PairScheduler::applyAndMeasureReserved(func::FuncOp joint,
                                       const PairDecision &decision,
                                       OperationCosts &operationCosts) {
  for (unsigned half : {0, 1})
    if (hasSchedule(getHalf(half)))
      schedulers[half]->apply(decision.halves[half]);
  FailureOr<StepReport> report =
      simulateHalves(joint, halves, operationCosts, options.budgetAllocator);
  if (failed(report))
    return failure();
  return report->reserved->reservedBytes;
}
