//===- BlockScheduler.cpp - Scheduling of a block within a memory limit ---===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockScheduler.h"

#include "../BlockScheduling.h"
#include "../Remarks.h"
#include "CommSched/Schedule/Bounds/LowerBounds.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/Simulator.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::ExposureReason;
using schedule::MemoryTimeline;
using schedule::NodeId;
using schedule::Order;
using schedule::Problem;
using schedule::ScheduleOrigin;
using schedule::StepSchedule;
using schedule::StepSchedulerOptions;
using schedule::TightLowerBound;
using schedule::Timeline;

static LogicalResult reportNotScheduled(Block &block,
                                        const std::string &reason) {
  return emitError(block.getParentOp()->getLoc(), "cannot be scheduled: ")
         << reason;
}

LogicalResult BlockScheduler::readContention() {
  FailureOr<GroupContention> groups = computeContention(
      *problem, scheduling->contention, pricing->getSymbolTables());
  if (failed(groups))
    return failure();
  contention = std::move(groups->contention);
  for (Attribute key : groups->unknownGroups)
    remark::analysis(block->getParentOp()->getLoc(),
                     makeRemark("UnknownContention", function.getSymName()))
        << explainUnknownGroup(key);
  return success();
}

FailureOr<std::optional<BlockScheduler>> BlockScheduler::create(
    func::FuncOp function, Block &block, const StepScheduling &scheduling,
    ScheduleBuckets buckets, std::shared_ptr<CostAnalysis> pricing) {
  using Outcome = std::optional<BlockScheduler>;
  FailureOr<BlockProblem> problem = BlockProblem::create(
      block,
      [&](Operation *op) { return pricing->getCosts()->getRuntimeNs(op); },
      StreamOrder::Free);
  if (failed(problem))
    return failure();
  if (Operation *op = problem->getUnpriced())
    return emitError(op->getLoc(), "cannot be scheduled without its time: ")
           << *getUnpricedReason(*problem, *pricing->getCosts())
           << "; run commsched-estimate-runtime where sizes are static, or set "
              "commsched.runtime_ns on it";
  if (std::optional<std::string> reason = getUnsizedReason(*problem)) {
    remarkBlockKept(function, problem->getUnsized().getLoc(), *reason);
    return Outcome();
  }
  BlockScheduler scheduler(function, block, std::move(*problem), scheduling,
                           buckets, std::move(pricing));
  if (failed(scheduler.readContention()))
    return failure();
  FailureOr<BlockSchedule> program = scheduler.measure(
      {scheduler.problem->getProblem().programOrder()}, /*buckets=*/nullptr);
  if (failed(program))
    return failure();
  scheduler.program = std::move(*program);
  return Outcome(std::move(scheduler));
}

/// Whether a merged program could beat `schedule` by what is worth a merge: it
/// has about the same computation.
bool BlockScheduler::mayGainByMerging(const StepSchedule &schedule,
                                      int64_t limitBytes) const {
  if (buckets == ScheduleBuckets::Off)
    return false;
  Result<schedule::LowerBound> bound = computeLowerBound(problem->getProblem());
  return !schedule.fits(limitBytes) || !bound ||
         schedule.stepNs - bound->computeNs > schedule.stepNs / 500;
}

/// Lists the ways of merging, unless that is done.
LogicalResult BlockScheduler::findAlternatives() {
  if (alternatives)
    return success();
  alternatives.emplace();
  mergeable = findMergeableSet(*block, *problem, scheduling->isBitwise,
                               *pricing->getCosts(), scheduling->profile);
  if (mergeable.hasBucket)
    return success();
  FailureOr<std::vector<BucketAlternative>> found =
      listBucketAlternatives(function, *problem, mergeable,
                             *pricing->getCosts(), pricing->getSymbolTables());
  if (succeeded(found))
    alternatives = std::move(*found);
  return found;
}

int64_t BlockScheduler::getLimitBytes(const MemoryBudget &budget) const {
  return mlir::commsched::getLimitBytes(function, *block, problem->getProblem(),
                                        program.step.peakBytes, budget);
}

const Problem &
BlockScheduler::getProblemOf(const BucketAlternative *buckets) const {
  return buckets ? buckets->merged.getProblem() : problem->getProblem();
}

FailureOr<BlockSchedule>
BlockScheduler::measure(StepSchedule step,
                        const BucketAlternative *buckets) const {
  const Problem &known = getProblemOf(buckets);
  Result<MemoryTimeline> memory = simulateMemory(known, step.order);
  Result<Timeline> timeline = simulate(known, step.order, contention);
  if (!memory || !timeline)
    return reportNotScheduled(*block,
                              !memory ? memory.error() : timeline.error());
  BlockSchedule result;
  result.step = std::move(step);
  result.step.stepNs = timeline->stepNs;
  result.step.peakBytes = memory->peakBytes;
  result.buckets = buckets;
  result.exposedNs = timeline->exposedCommNs;
  for (NodeId node = 0; node < known.numNodes(); ++node)
    result.numCollectives += known.isCollective(node);
  return result;
}

FailureOr<int64_t>
BlockScheduler::computeLowerBoundNs(const BlockSchedule &schedule) const {
  Result<TightLowerBound> bound =
      computeTightLowerBound(getProblemOf(schedule.buckets));
  if (!bound)
    return reportNotScheduled(*block, bound.error());
  return bound->ns;
}

/// The ways of merging with the best sketches, at most `count`.
FailureOr<SmallVector<const BucketAlternative *>>
BlockScheduler::findPromising(const StepSchedulerOptions &options,
                              size_t count) {
  if (failed(findAlternatives()))
    return failure();
  struct Sketch {
    const BucketAlternative *alternative;
    StepSchedule step;
  };
  SmallVector<Sketch> sketches;
  for (const BucketAlternative &alternative : *alternatives) {
    Result<StepSchedule> step =
        scheduleMerged(alternative, schedule::sketchStep, options);
    if (!step)
      return reportNotScheduled(*block, step.error());
    sketches.push_back({&alternative, std::move(*step)});
  }
  auto getKey = [&](const Sketch &sketch) {
    bool fits = sketch.step.fits(options.limitBytes);
    return std::make_tuple(!fits, fits ? sketch.step.stepNs : 0,
                           sketch.step.peakBytes,
                           sketch.alternative - alternatives->data());
  };
  llvm::sort(sketches, [&](const Sketch &a, const Sketch &b) {
    return getKey(a) < getKey(b);
  });
  sketches.truncate(std::min(sketches.size(), count));
  return llvm::map_to_vector(
      sketches, [](const Sketch &sketch) { return sketch.alternative; });
}

FailureOr<BlockSchedule> BlockScheduler::schedule(int64_t limitBytes) {
  StepSchedulerOptions options;
  options.limitBytes = limitBytes;
  options.contention = contention;
  options.slackPercent = scheduling->slackPercent;
  Result<StepSchedule> best =
      schedule::scheduleStep(problem->getProblem(), options);
  if (!best)
    return reportNotScheduled(*block, best.error());
  if (!mayGainByMerging(*best, limitBytes))
    return measure(std::move(*best), /*buckets=*/nullptr);
  constexpr size_t numPromising = 2;
  FailureOr<SmallVector<const BucketAlternative *>> promising =
      findPromising(options, numPromising);
  if (failed(promising))
    return failure();
  const BucketAlternative *chosen = nullptr;
  std::optional<RejectedBuckets> rejected;
  for (const BucketAlternative *alternative : *promising) {
    Result<StepSchedule> merged =
        scheduleMerged(*alternative, schedule::scheduleStep, options);
    if (!merged)
      return reportNotScheduled(*block, merged.error());
    if (!isBetter(*merged, *best, limitBytes)) {
      // Of those not taken the first was the most promising.
      if (!rejected)
        rejected = {alternative, merged->stepNs, merged->peakBytes};
      continue;
    }
    best = std::move(merged);
    chosen = alternative;
  }
  FailureOr<BlockSchedule> result = measure(std::move(*best), chosen);
  if (succeeded(result) && !chosen)
    result->rejected = rejected;
  return result;
}

FailureOr<std::vector<ExposureReason>>
BlockScheduler::explainExposure(const Order &order, int64_t limitBytes) const {
  schedule::ExposureOptions options;
  options.limitBytes = limitBytes;
  options.contention = contention;
  Result<std::vector<ExposureReason>> reasons =
      schedule::explainExposure(problem->getProblem(), order, options);
  if (!reasons)
    return reportNotScheduled(*block, reasons.error());
  return std::move(*reasons);
}

/// Replaces members by buckets.
LogicalResult BlockScheduler::merge(const BlockSchedule &schedule) const {
  const BucketAlternative &chosen = *schedule.buckets;
  Result<Order> order = chosen.merged.expand(schedule.step.order);
  if (!order)
    return reportNotScheduled(*block, order.error());
  problem->apply(*order);
  IRRewriter rewriter(block->getParentOp()->getContext());
  for (auto [index, price] : llvm::enumerate(chosen.prices)) {
    // In the order in which they stand now.
    ArrayRef<NodeId> starts = chosen.merged.bucket(index).starts;
    mergeCollectives(rewriter, getMembers(*problem, starts), price.mode,
                     /*multiDtype=*/false, price.casts);
  }
  return success();
}

FailureOr<bool> BlockScheduler::apply(const BlockSchedule &schedule) const {
  if (!schedule.buckets && !problem->apply(schedule.step.order))
    return false;
  keepBaselineBytes(function, *block, program.step.peakBytes);
  if (schedule.buckets && failed(merge(schedule)))
    return failure();
  return true;
}
