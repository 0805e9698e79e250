//===- PricedBlock.cpp - Blocks as they are read --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "BlockScheduler.h"
#include "CommSched/Analysis/Bounds/LeastProblem.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/Simulator.h"
#include "CommSched/Support/Unlimited.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

void PricedBlock::remarkAssumptions() {
  if (areRemarksEnabled(function))
    mlir::commsched::remarkAssumptions(function.getSymName(),
                                       listAssumptions(problem, getCosts()));
}

LogicalResult PricedBlock::readContention(bool remarks) {
  FailureOr<GroupContention> groups = computeContention(
      problem, getCosts().getTarget(), pricing->getSymbolTables());
  if (failed(groups))
    return failure();
  contention = std::move(groups->contention);
  if (remarks)
    remarkUnknownGroups(block.getParentOp()->getLoc(), function.getSymName(),
                        groups->unknownGroups);
  return success();
}

FailureOr<bool> PricedBlock::read(DeclineFunction decline,
                                  const schedule::Contention *known,
                                  bool first) {
  FailureOr<BlockProblem> created = priceBlock(block, getCosts());
  if (failed(created))
    return failure();
  problem = std::move(*created);
  if (options.refusesAssumptions &&
      failed(refuseAssumptions(problem, getCosts())))
    return failure();
  if (std::optional<BlockObstacle> obstacle = getObstacle(problem)) {
    if (decline)
      decline(obstacle->location, obstacle->reason);
    else
      remarkBlockKept(function, obstacle->location, obstacle->reason);
    return false;
  }
  if (known)
    contention = *known;
  else if (failed(readContention(/*remarks=*/first)))
    return failure();
  exposedInsideNs = sumExposedInside();
  FailureOr<BlockSchedule> measured =
      measure({problem.getProblem().programOrder()},
              /*buckets=*/nullptr, unlimited);
  if (failed(measured))
    return failure();
  program = std::move(*measured);
  return true;
}

/// What is exposed in the loops and other regions of the block.
int64_t PricedBlock::sumExposedInside() const {
  int64_t sumNs = 0;
  for (Operation &op : block.without_terminator())
    if (op.getNumRegions() != 0 && !isa<CollectiveOpInterface>(op)) {
      OperationPrice price = getCosts().price(&op);
      sumNs += price.timeNs - price.computeNs;
    }
  return sumNs;
}

int64_t PricedBlock::getLimitBytes(const MemoryBudget &budget) const {
  if (!limit)
    limit.emplace(function, block, program.step.peakBytes);
  return limit->get(budget);
}

FailureOr<int64_t> PricedBlock::getOrComputeBoundNs() {
  if (!boundNs) {
    FailureOr<int64_t> bound =
        computeMergingBoundNs(problem, getCosts(), /*keepsLoops=*/true,
                              /*keepsWhole=*/!mayBeSplit());
    if (failed(bound))
      return failure();
    boundNs = *bound;
  }
  return *boundNs;
}

FailureOr<bool> PricedBlock::mayGain(int64_t stepNs) {
  FailureOr<int64_t> bound = getOrComputeBoundNs();
  if (failed(bound))
    return failure();
  return schedule::isWorthTrying(stepNs - *bound, stepNs);
}

const Problem &PricedBlock::getProblemOf(const BucketChoice *buckets) const {
  return buckets ? buckets->merged->getProblem() : problem.getProblem();
}

/// The starts that send values to the host or back, which no bucket has.
static int64_t countTransfers(const BlockProblem &block) {
  const Problem &problem = block.getProblem();
  int64_t count = 0;
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    if (problem.isCollective(node))
      if (auto start = dyn_cast_if_present<CollectiveOpInterface>(
              block.getOperation(node)))
        count += isHostTransfer(start.getCollectiveKind());
  return count;
}

FailureOr<BlockSchedule> PricedBlock::measure(StepSchedule step,
                                              const BucketChoice *buckets,
                                              int64_t limitBytes) const {
  const Problem &known = getProblemOf(buckets);
  FailureOr<MemoryTimeline> memory = unwrap(simulateMemory(known, step.order));
  if (failed(memory))
    return failure();
  FailureOr<Timeline> timeline =
      unwrap(simulate(known, step.order, contention));
  if (failed(timeline))
    return failure();
  BlockSchedule result;
  result.blockOrder = step.order;
  if (buckets) {
    FailureOr<Order> expanded = unwrap(buckets->merged->expand(step.order));
    if (failed(expanded))
      return failure();
    result.blockOrder = std::move(*expanded);
  }
  result.step = std::move(step);
  result.limitBytes = limitBytes;
  result.step.stepNs = timeline->stepNs;
  result.step.peakBytes = memory->peakBytes;
  result.buckets = buckets;
  result.exposedNs = timeline->exposedCommNs + exposedInsideNs;
  for (NodeId node = 0; node < known.numNodes(); ++node)
    result.numCollectives += known.isCollective(node);
  result.numCollectives -= countTransfers(problem);
  return result;
}

FailureOr<std::vector<ExposureReason>>
PricedBlock::explainExposure(const Order &order, int64_t limitBytes) const {
  return unwrap(schedule::explainExposure(
      problem.getProblem(), order,
      schedule::ExposureOptions(makeStepOptions(limitBytes))));
}

StepSchedulerOptions PricedBlock::makeStepOptions(int64_t limitBytes) const {
  StepSchedulerOptions stepOptions;
  stepOptions.limitBytes = limitBytes;
  stepOptions.contention = contention;
  stepOptions.slackPercent = getCosts().getSlackPercent();
  stepOptions.maxDistance *= distanceFactor;
  stepOptions.cache = options.cache.get();
  return stepOptions;
}
