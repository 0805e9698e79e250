//===- BlockScheduler.cpp - Scheduling of a block within a memory limit ---===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockScheduler.h"

#include "../PassSupport.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Schedule/Bounds/LowerBounds.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/ProblemTransforms.h"
#include "CommSched/Schedule/Model/Simulator.h"
#include "CommSched/Schedule/Model/Verify.h"
#include "CommSched/Support/Unlimited.h"
#include "mlir/IR/Threading.h"
#include "llvm/Support/Debug.h"

#define DEBUG_TYPE "commsched-schedule"

using namespace mlir;
using namespace mlir::commsched;
using schedule::BucketedProblem;
using schedule::ExposureReason;
using schedule::MemoryTimeline;
using schedule::NodeId;
using schedule::noNode;
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

void BlockScheduler::remarkAssumptions() {
  if (areRemarksEnabled(function))
    mlir::commsched::remarkAssumptions(
        function.getSymName(), listAssumptions(*problem, *pricing->getCosts()));
}

LogicalResult BlockScheduler::readContention() {
  ContentionOptions contended = options->contention;
  contended.implementations = &pricing->getCosts()->getTarget().implementations;
  FailureOr<GroupContention> groups =
      computeContention(*problem, contended, pricing->getSymbolTables());
  if (failed(groups))
    return failure();
  contention = std::move(groups->contention);
  for (Attribute key : groups->unknownGroups)
    remark::analysis(block->getParentOp()->getLoc(),
                     makeRemark("UnknownContention", function.getSymName()))
        << explainUnknownGroup(key);
  return success();
}

/// How many times as many operations as elsewhere computation may pass in a
/// split block.
static constexpr int32_t splitDistance = 16;

BlockScheduler::~BlockScheduler() = default;

FailureOr<std::optional<BlockScheduler>>
BlockScheduler::create(func::FuncOp function, Block &block,
                       const SchedulingOptions &options,
                       std::shared_ptr<CostAnalysis> pricing,
                       function_ref<void(Location, StringRef)> decline) {
  return read(function, block, options, std::move(pricing), decline,
              /*original=*/nullptr);
}

/// create(); for the split block, what has read the `original` one.
FailureOr<std::optional<BlockScheduler>>
BlockScheduler::read(func::FuncOp function, Block &block,
                     const SchedulingOptions &options,
                     std::shared_ptr<CostAnalysis> pricing,
                     function_ref<void(Location, StringRef)> decline,
                     const BlockScheduler *original) {
  using Outcome = std::optional<BlockScheduler>;
  FailureOr<BlockProblem> problem = BlockProblem::create(
      block, [&](Operation *op) { return pricing->getCosts()->price(op); },
      StreamOrder::Free);
  if (failed(problem))
    return failure();
  if (options.refusesAssumptions &&
      failed(refuseAssumptions(*problem, *pricing->getCosts())))
    return failure();
  if (std::optional<BlockObstacle> obstacle = getObstacle(*problem)) {
    decline(obstacle->location, obstacle->reason);
    return Outcome();
  }
  BlockScheduler scheduler(function, block, std::move(*problem), options,
                           std::move(pricing));
  scheduler.isSplit = original != nullptr;
  if (original)
    scheduler.contention = original->contention;
  else if (failed(scheduler.readContention()))
    return failure();
  scheduler.exposedInsideNs = scheduler.sumExposedInside();
  FailureOr<BlockSchedule> program =
      scheduler.measure({scheduler.problem->getProblem().programOrder()},
                        /*buckets=*/nullptr, unlimited);
  if (failed(program))
    return failure();
  scheduler.program = std::move(*program);
  return Outcome(std::move(scheduler));
}

/// What is exposed in the loops and other regions of the block.
int64_t BlockScheduler::sumExposedInside() const {
  int64_t sumNs = 0;
  for (Operation &op : block->without_terminator())
    if (op.getNumRegions() != 0 && !isa<CollectiveOpInterface>(op))
      if (std::optional<OperationPrice> price = pricing->getCosts()->price(&op))
        sumNs += price->timeNs - price->computeNs;
  return sumNs;
}

/// Whether merging could gain enough if it hid all communication: a merged
/// program has about the same computation. To try it costs several times what
/// scheduling does, so that twice the least gain has to be in reach.
bool BlockScheduler::mayGainByMerging(const StepSchedule &schedule,
                                      int64_t limitBytes) const {
  if (options->buckets == ScheduleBuckets::Off)
    return false;
  Result<schedule::LowerBound> bound = computeLowerBound(problem->getProblem());
  return !schedule.fits(limitBytes) || !bound ||
         schedule::isWorthTrying(schedule.stepNs - bound->computeNs,
                                 schedule.stepNs);
}

/// Lists the ways of merging, unless that is done.
LogicalResult BlockScheduler::findChoices() {
  if (choices)
    return success();
  choices.emplace();
  mergeable = findMergeableSet(*block, *problem, options->merging,
                               *pricing->getCosts());
  if (mergeable.hasBucket)
    return success();
  BucketChooser chooser(function, *problem, MergedUse::Schedule,
                        *pricing->getCosts(), pricing->getSymbolTables());
  FailureOr<std::vector<BucketChoice>> found = chooser.chooseAll(mergeable);
  if (succeeded(found))
    choices = std::move(*found);
  return found;
}

int64_t BlockScheduler::getLimitBytes(const MemoryBudget &budget) const {
  return mlir::commsched::getLimitBytes(function, *block, problem->getProblem(),
                                        program.step.peakBytes, budget);
}

const Problem &BlockScheduler::getProblemOf(const BucketChoice *buckets) const {
  return buckets ? buckets->merged->getProblem() : problem->getProblem();
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

FailureOr<BlockSchedule> BlockScheduler::measure(StepSchedule step,
                                                 const BucketChoice *buckets,
                                                 int64_t limitBytes) const {
  const Problem &known = getProblemOf(buckets);
  Result<MemoryTimeline> memory = simulateMemory(known, step.order);
  Result<Timeline> timeline = simulate(known, step.order, contention);
  if (!memory || !timeline)
    return reportNotScheduled(*block,
                              !memory ? memory.error() : timeline.error());
  BlockSchedule result;
  result.blockOrder = step.order;
  if (buckets) {
    Result<Order> expanded = buckets->merged->expand(step.order);
    if (!expanded)
      return reportNotScheduled(*block, expanded.error());
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
  result.numCollectives -= countTransfers(*problem);
  return result;
}

FailureOr<int64_t>
BlockScheduler::computeLowerBoundNs(const BlockSchedule &schedule) const {
  const BlockScheduler &read =
      schedule.split ? *schedule.split->scheduler : *this;
  Result<TightLowerBound> bound =
      computeTightLowerBound(read.getProblemOf(schedule.buckets));
  if (!bound)
    return reportNotScheduled(*block, bound.error());
  return bound->ns;
}

/// The order with copies where the rewritten program has them: directly before
/// the start and directly after the wait of their bucket.
static Order putCopiesBeside(const BucketedProblem &merged,
                             const Order &order) {
  Order result;
  for (NodeId node : order) {
    int32_t index = merged.bucketOf(node);
    if (index < 0) {
      result.push_back(node);
      continue;
    }
    const BucketedProblem::MergedBucket &bucket = merged.bucket(index);
    if (node == bucket.start && bucket.copyIn != noNode)
      result.push_back(bucket.copyIn);
    if (node == bucket.start || node == bucket.wait)
      result.push_back(node);
    if (node == bucket.wait && bucket.copyOut != noNode)
      result.push_back(bucket.copyOut);
  }
  return result;
}

/// A schedule of the merged program of `choice` by `solver`, which is
/// scheduleStep(), scheduleStepOnce() or sketchStep() and begins with the order
/// `start`, with copies directly beside their collectives. Verified and
/// simulated.
static Result<StepSchedule>
scheduleMerged(const BucketChoice &choice, const Order &start,
               BlockScheduler::StepSolver solver,
               const StepSchedulerOptions &stepOptions) {
  const Problem &problem = choice.merged->getProblem();
  Result<StepSchedule> schedule = solver(renumber(problem, start), stepOptions);
  if (!schedule)
    return schedule;
  for (NodeId &node : schedule->order)
    node = start[node];
  schedule =
      measureStep(problem, putCopiesBeside(*choice.merged, schedule->order),
                  stepOptions.contention);
  if (schedule)
    schedule->origin = ScheduleOrigin::Constructed;
  return schedule;
}

/// Improves `schedule`, one of the merged program of `choice`: moving copies
/// beside their collectives may have left room for that.
static Result<StepSchedule>
improveMerged(const BucketChoice &choice, StepSchedule schedule,
              const StepSchedulerOptions &stepOptions) {
  Result<StepSchedule> improved = scheduleMerged(
      choice, schedule.order, schedule::scheduleStep, stepOptions);
  if (!improved)
    return improved;
  return isBetter(improved->rank(stepOptions.limitBytes),
                  schedule.rank(stepOptions.limitBytes))
             ? std::move(*improved)
             : std::move(schedule);
}

/// Traces a schedule of the program, with or without buckets.
static void traceSchedule([[maybe_unused]] StringRef what,
                          [[maybe_unused]] StringRef rule,
                          [[maybe_unused]] const StepSchedule &schedule,
                          [[maybe_unused]] int64_t limitBytes) {
  LLVM_DEBUG({
    llvm::dbgs() << "commsched-schedule: " << what << " " << rule << ": step "
                 << schedule.stepNs << " ns, peak " << schedule.peakBytes
                 << " bytes";
    if (!schedule.fits(limitBytes))
      llvm::dbgs() << ", over the limit of " << limitBytes;
    llvm::dbgs() << "\n";
  });
}

/// scheduleMerged() for each of the choices, at once.
FailureOr<SmallVector<StepSchedule>>
BlockScheduler::scheduleAllMerged(ArrayRef<const BucketChoice *> tried,
                                  StepSolver solver,
                                  const StepSchedulerOptions &stepOptions) {
  SmallVector<StepSchedule> steps(tried.size());
  auto scheduleOne = [&](size_t index) -> LogicalResult {
    Result<StepSchedule> step =
        scheduleMerged(*tried[index], tried[index]->order, solver, stepOptions);
    if (!step)
      return reportNotScheduled(*block, step.error());
    steps[index] = std::move(*step);
    return success();
  };
  if (failed(failableParallelForEachN(block->getParentOp()->getContext(), 0,
                                      tried.size(), scheduleOne)))
    return failure();
  return steps;
}

/// The ways of merging with the best sketches, at most `count`.
FailureOr<SmallVector<const BucketChoice *>>
BlockScheduler::findPromising(const StepSchedulerOptions &stepOptions,
                              size_t count) {
  if (failed(findChoices()))
    return failure();
  struct Sketch {
    const BucketChoice *choice;
    StepSchedule step;
  };
  FailureOr<SmallVector<StepSchedule>> steps = scheduleAllMerged(
      llvm::map_to_vector(*choices,
                          [](const BucketChoice &choice) { return &choice; }),
      schedule::sketchStep, stepOptions);
  if (failed(steps))
    return failure();
  SmallVector<Sketch> sketches;
  for (auto [choice, step] : llvm::zip_equal(*choices, *steps)) {
    traceSchedule("sketch of merging", choice.rule, step,
                  stepOptions.limitBytes);
    sketches.push_back({&choice, std::move(step)});
  }
  llvm::stable_sort(sketches, [&](const Sketch &a, const Sketch &b) {
    return isBetter(a.step.rank(stepOptions.limitBytes),
                    b.step.rank(stepOptions.limitBytes));
  });
  sketches.truncate(std::min(sketches.size(), count));
  return llvm::map_to_vector(
      sketches, [](const Sketch &sketch) { return sketch.choice; });
}

StepSchedulerOptions BlockScheduler::makeStepOptions(int64_t limitBytes) const {
  StepSchedulerOptions stepOptions;
  stepOptions.limitBytes = limitBytes;
  stepOptions.contention = contention;
  stepOptions.slackPercent =
      options->slackPercent.value_or(pricing->getCosts()->getSlackPercent());
  // In chunks the same computation is more operations.
  if (isSplit)
    stepOptions.maxDistance *= splitDistance;
  return stepOptions;
}

/// The best schedule without splitting.
FailureOr<BlockSchedule> BlockScheduler::scheduleWhole(int64_t limitBytes,
                                                       bool mayMerge) {
  StepSchedulerOptions stepOptions = makeStepOptions(limitBytes);
  Result<StepSchedule> unmerged =
      schedule::scheduleStep(problem->getProblem(), stepOptions);
  if (!unmerged)
    return reportNotScheduled(*block, unmerged.error());
  traceSchedule("schedule", "without merging", *unmerged, limitBytes);
  if (!mayMerge || !mayGainByMerging(*unmerged, limitBytes))
    return measure(std::move(*unmerged), /*buckets=*/nullptr, limitBytes);
  constexpr size_t numPromising = 2;
  FailureOr<SmallVector<const BucketChoice *>> promising =
      findPromising(stepOptions, numPromising);
  if (failed(promising))
    return failure();
  FailureOr<SmallVector<StepSchedule>> merged =
      scheduleAllMerged(*promising, schedule::scheduleStepOnce, stepOptions);
  if (failed(merged))
    return failure();
  for (auto [choice, step] : llvm::zip_equal(*promising, *merged))
    traceSchedule("schedule of merging", choice->rule, step, limitBytes);
  if (std::optional<size_t> best = findBest(*unmerged, *merged, limitBytes)) {
    const BucketChoice *choice = (*promising)[*best];
    Result<StepSchedule> step =
        improveMerged(*choice, std::move((*merged)[*best]), stepOptions);
    if (!step)
      return reportNotScheduled(*block, step.error());
    traceSchedule("chosen: merging", choice->rule, *step, limitBytes);
    return measure(std::move(*step), choice, limitBytes);
  }
  traceSchedule("chosen:", "no merging, which saves too little", *unmerged,
                limitBytes);
  FailureOr<BlockSchedule> result =
      measure(std::move(*unmerged), /*buckets=*/nullptr, limitBytes);
  if (succeeded(result) && !merged->empty())
    // The first has the best sketch.
    result->rejected = {promising->front(), merged->front().stepNs,
                        merged->front().peakBytes};
  return result;
}

FailureOr<std::vector<ExposureReason>>
BlockScheduler::explainExposure(const Order &order, int64_t limitBytes) const {
  Result<std::vector<ExposureReason>> reasons = schedule::explainExposure(
      problem->getProblem(), order,
      schedule::ExposureOptions(makeStepOptions(limitBytes)));
  if (!reasons)
    return reportNotScheduled(*block, reasons.error());
  return std::move(*reasons);
}

bool BlockScheduler::apply(const BlockSchedule &schedule) const {
  if (schedule.split) {
    keepBaselineBytes(function, *block, program.step.peakBytes);
    BlockSchedule rest = schedule;
    rest.split = nullptr;
    schedule.split->scheduler->apply(rest);
    schedule.split->program.adopt();
    return true;
  }
  bool isMoved = schedule.blockOrder != problem->getProblem().programOrder();
  if (!isMoved && !schedule.buckets)
    return false;
  keepBaselineBytes(function, *block, program.step.peakBytes);
  problem->apply(schedule.blockOrder);
  if (!schedule.buckets)
    return true;
  IRRewriter rewriter(block->getParentOp()->getContext());
  for (auto [index, price] : llvm::enumerate(schedule.buckets->prices)) {
    // In the order in which they stand now.
    ArrayRef<NodeId> starts = schedule.buckets->merged->bucket(index).starts;
    price.pin(mergeCollectives(rewriter, getMembers(*problem, starts),
                               price.mode, /*multiDtype=*/false, price.casts));
  }
  return true;
}

#undef DEBUG_TYPE
