//===- DecidedBlock.cpp - Schedules that are decided ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../AssumedFusion.h"
#include "../PassSupport.h"
#include "BlockScheduler.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Report/StepReport.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

static StringRef toString(ScheduleOrigin origin) {
  switch (origin) {
  case ScheduleOrigin::Program:
    return "program";
  case ScheduleOrigin::SimpleOverlap:
    return "simple-overlap";
  case ScheduleOrigin::Constructed:
    return "constructed";
  case ScheduleOrigin::LeastMemory:
    return "least-memory";
  }
  llvm_unreachable("unknown origin");
}

/// The budget, and what the allocator reserves of it.
static std::string describeBudget(const BlockSchedule &schedule) {
  std::string text =
      "for a budget of " + std::to_string(schedule.getBudgetBytes());
  if (schedule.reserved)
    text += ", of which the allocator reserves " +
            std::to_string(schedule.reserved->bytes);
  return text;
}

/// Adds the metrics on the budget of `schedule`.
template <typename Remark>
static void addBudget(Remark &remark, const BlockSchedule &schedule) {
  remark << remark::metric("BudgetBytes", schedule.getBudgetBytes());
  if (schedule.reserved)
    remark << remark::metric("ReservedBytes", schedule.reserved->bytes);
}

static void remarkKept(func::FuncOp function, Location location,
                       const StepSchedule &program,
                       const BlockSchedule &schedule) {
  auto remark = remarkBlockKept(
      function, location,
      "no better schedule is known than the program's, which "
      "takes " +
          Twine(program.stepNs) + " ns and " + Twine(program.peakBytes) +
          " bytes, " + describeBudget(schedule));
  remark << remark::metric("StepNs", program.stepNs)
         << remark::metric("PeakBytes", program.peakBytes);
  addBudget(remark, schedule);
}

static void remarkScheduled(func::FuncOp function, Location location,
                            const StepSchedule &before,
                            const BlockSchedule &schedule) {
  const StepSchedule &after = schedule.step;
  StringRef origin = toString(after.origin);
  auto remark = remark::passed(
      location, makeRemark("BlockScheduled", function.getSymName()));
  remark << ("the step takes " + Twine(after.stepNs) + " ns instead of " +
             Twine(before.stepNs) + ", and " + Twine(after.peakBytes) +
             " bytes instead of " + Twine(before.peakBytes) + ", " +
             describeBudget(schedule) + " (" + origin + ")")
                .str()
         << remark::metric("Origin", origin)
         << remark::metric("StepNsBefore", before.stepNs)
         << remark::metric("StepNsAfter", after.stepNs)
         << remark::metric("PeakBytesBefore", before.peakBytes)
         << remark::metric("PeakBytesAfter", after.peakBytes);
  addBudget(remark, schedule);
}

/// What is live in `order` at its peak, by kinds.
static std::string describePeak(const Problem &problem, const Order &order) {
  Result<MemoryTimeline> memory = simulateMemory(problem, order);
  Result<std::vector<BufferId>> live =
      memory ? findLive(problem, order, memory->peakPosition)
             : Result<std::vector<BufferId>>(Error{memory.error()});
  if (!live)
    return live.error();
  int64_t argumentBytes = 0, deliveredBytes = 0, otherBytes = 0;
  for (BufferId id : *live) {
    auto [bytes, producer, freed] = problem.buffer(id);
    if (producer == noNode)
      argumentBytes += bytes;
    else if (problem.kind(producer) != NodeKind::Compute)
      deliveredBytes += bytes;
    else
      otherBytes += bytes;
  }
  return ("at the peak, arguments take " + Twine(argumentBytes) +
          ", results of collectives " + Twine(deliveredBytes) +
          " and other values " + Twine(otherBytes))
      .str();
}

static std::string explainReserved(const BlockSchedule &schedule) {
  auto [bytes, limitBytes] = *schedule.reserved;
  return ("the allocator reserves " + Twine(bytes) +
          " bytes for the schedule that needs least, " +
          Twine(bytes - limitBytes) + " over the budget of " +
          Twine(limitBytes) + "; " + Twine(schedule.step.peakBytes) +
          " of them are live at the peak")
      .str();
}

std::string mlir::commsched::explainOverBudget(const BlockScheduler &scheduler,
                                               const BlockSchedule &schedule) {
  std::string excess =
      schedule.reserved
          ? explainReserved(schedule)
          : explainExcess(scheduler.getProblem().getProblem(),
                          schedule.step.peakBytes, schedule.limitBytes);
  if (!isa<FunctionOpInterface>(scheduler.getBlock().getParentOp()) &&
      schedule.limitBytes >= 0)
    excess += "; the rest of the budget is live around it";
  return excess + "; " +
         describePeak(scheduler.getProblemOf(schedule), schedule.step.order);
}

/// Emits the remark `BudgetExceeded` on a block of `function`.
static void remarkOverBudget(func::FuncOp function,
                             const BlockScheduler &scheduler,
                             const BlockSchedule &schedule) {
  if (!schedule.reserved)
    return remarkBudgetExceeded(function, scheduler.getProblem().getProblem(),
                                schedule.step.peakBytes, schedule.limitBytes);
  auto remark = remark::missed(
      function.getLoc(), makeRemark("BudgetExceeded", function.getSymName()));
  remark << explainReserved(schedule)
         << remark::metric("PeakBytes", schedule.step.peakBytes);
  addBudget(remark, schedule);
}

/// Emits the remarks on the `schedule` that a block of `function` gets:
/// `BlockScheduled`, or `BlockKept` if its order stays, and `BudgetExceeded` if
/// it takes more than its limit.
static void remarkSchedule(func::FuncOp function,
                           const BlockScheduler &scheduler,
                           const BlockSchedule &schedule) {
  const StepSchedule &before = scheduler.getProgram().step;
  Location location = scheduler.getBlock().getParentOp()->getLoc();
  if (!schedule.fits())
    remarkOverBudget(function, scheduler, schedule);
  if (!schedule.start && schedule.step.order == before.order)
    remarkKept(function, location, before, schedule);
  else
    remarkScheduled(function, location, before, schedule);
}

std::string mlir::commsched::describeSplit(Operation *start,
                                           const SplitRegion &region,
                                           int64_t chunks) {
  size_t computed = region.members.size() - 2 * region.collectives.size();
  return (describe(start) + ": split into " + Twine(chunks) +
          " chunks together with " + Twine(computed) +
          (computed == 1 ? " operation" : " operations") + " of computation, " +
          Twine(region.numLarge) + " of them large")
      .str();
}

void mlir::commsched::remarkSplitRegions(func::FuncOp function,
                                         BlockSearch &scheduler,
                                         const BlockSchedule &schedule) {
  if (!schedule.split)
    return;
  SplitChooser &chooser = *scheduler.getChooser();
  for (const SplitChoice::Region &choice :
       schedule.split->getSplit().getChoice().regions) {
    const SplitRegion &region = chooser.getRegion(choice.region);
    const SplitChooser::Verdict &verdict = chooser.judge(region);
    for (Operation *start : region.collectives) {
      auto remark =
          remark::passed(start->getLoc(),
                         makeRemark("CollectiveSplit", function.getSymName()));
      std::string text = describeSplit(start, region, choice.chunks);
      // Of the same region in another number of chunks nothing is said.
      bool isBest = choice.chunks == verdict.chunks;
      if (isBest)
        text += "; alone they take " + std::to_string(verdict.splitNs) +
                " ns instead of " + std::to_string(verdict.wholeNs);
      remark << text;
      if (isBest)
        remark << remark::metric("RegionNsBefore", verdict.wholeNs)
               << remark::metric("RegionNsAfter", verdict.splitNs);
      remark << remark::metric("Chunks", choice.chunks);
    }
  }
}

/// Why the collectives of a block are not split, by their starts.
using NotSplitReasons = DenseMap<Operation *, SplitObstacle>;

/// The reasons for the collectives of the block that `schedule` makes, before
/// it is applied.
static NotSplitReasons explainNotSplit(BlockSearch &scheduler,
                                       const BlockSchedule &schedule) {
  NotSplitReasons reasons;
  const BlockProblem &problem = scheduler.getProblem();
  for (NodeId node = 0; node < problem.getProblem().numNodes(); ++node) {
    if (!problem.getProblem().isCollective(node))
      continue;
    Operation *start = problem.getOperation(node);
    Operation *kept =
        schedule.split ? schedule.split->getSplit().getCopy(start) : start;
    if (kept)
      reasons[kept] = scheduler.explainNotSplit(start, schedule);
  }
  return reasons;
}

void mlir::commsched::remarkSplitEnd(func::FuncOp function, Location place,
                                     Operation *start, StringRef reason) {
  remark::analysis(place, makeRemark("SplitEnd", function.getSymName()))
      << ("splitting " + describe(start) + " (" +
          getLocationText(start->getLoc()) + ") ends here: " + reason)
             .str();
}

void mlir::commsched::remarkNotSplit(func::FuncOp function, Operation *start,
                                     const SplitObstacle &obstacle) {
  remark::missed(start->getLoc(),
                 makeRemark("CollectiveNotSplit", function.getSymName()))
      << describe(start) + ": not split: " + obstacle.text;
  if (obstacle.place)
    remarkSplitEnd(function, *obstacle.place, start, obstacle.text);
}

/// The collectives that could be merged but for the option `bitwise`.
static UnbucketedReasons getBitwiseReasons(const MergeableSet *mergeable) {
  UnbucketedReasons reasons;
  if (!mergeable)
    return reasons;
  for (const MergeableKind &kind : mergeable->kinds)
    for (const RefusedCollective &refused : kind.collectives.refused)
      if (refused.isForBitwise)
        reasons[refused.op] = refused.reason;
  return reasons;
}

/// Emits a remark `CollectiveAlone` on each collective that is in none of the
/// buckets of `schedule`. If there are none, that is on those that `bitwise`
/// keeps alone, and if some were tried, one remark `CollectivesNotMerged` on
/// the block. For before the schedule is applied.
static void remarkMerging(func::FuncOp function, const BlockSearch &scheduler,
                          const BlockSchedule &schedule) {
  Block &block = scheduler.getBlock();
  if (schedule.buckets) {
    remarkUnbucketed(function, block,
                     explainUnbucketed(scheduler.getProblem(),
                                       *scheduler.getMergeable(),
                                       *schedule.buckets));
    return;
  }
  remarkUnbucketed(function, block,
                   getBitwiseReasons(scheduler.getMergeable()));
  if (!schedule.rejected)
    return;
  const RejectedWay &rejected = *schedule.rejected;
  remark::missed(block.getParentOp()->getLoc(),
                 makeRemark("CollectivesNotMerged", function.getSymName()))
      << ("merging " + rejected.rule + " would make a step of " +
          Twine(rejected.stepNs) + " ns and " + Twine(rejected.peakBytes) +
          " bytes, without merging it is " + Twine(schedule.step.stepNs) +
          " ns and " + Twine(schedule.step.peakBytes) +
          " bytes, for a budget of " + Twine(schedule.limitBytes))
             .str()
      << remark::metric("StepNsMerged", rejected.stepNs)
      << remark::metric("PeakBytesMerged", rejected.peakBytes)
      << remark::metric("StepNs", schedule.step.stepNs)
      << remark::metric("PeakBytes", schedule.step.peakBytes);
}

/// What splitting has to do with the exposed collective `op`; `reason` says why
/// it was not split, if that is known.
static std::string describeSplitting(Operation *op,
                                     std::optional<std::string> reason) {
  if (op->hasAttr(chunkAttrName))
    return "it is a chunk already";
  if (isBucket(cast<CollectiveOpInterface>(op)))
    return "merged collectives are not split";
  return reason ? "splitting it was tried: " + *reason : "";
}

/// Emits a remark `CollectiveExposed` on each collective that computation does
/// not hide in `order`, one of the block as `scheduler` has read it
/// (`TransferExposed` on a transfer to or from the host), and
/// `CollectiveNotSplit` if it is in one piece. Emits an error if that cannot be
/// found out.
static LogicalResult remarkExposure(func::FuncOp function,
                                    const BlockSearch &scheduler,
                                    const schedule::Order &order,
                                    const NotSplitReasons &notSplit,
                                    int64_t limitBytes) {
  const BlockProblem &problem = scheduler.getProblem();
  FailureOr<std::vector<ExposureReason>> reasons =
      scheduler.explainExposure(order, limitBytes);
  if (failed(reasons))
    return failure();
  for (const ExposureReason &reason : *reasons) {
    Operation *op = problem.getOperation(reason.collective);
    bool isTransfer =
        isHostTransfer(cast<CollectiveOpInterface>(op).getCollectiveKind());
    auto whyWhole = notSplit.find(op);
    std::string splitting =
        scheduler.mayBeSplit()
            ? describeSplitting(
                  op, whyWhole == notSplit.end()
                          ? std::nullopt
                          : std::optional<std::string>(whyWhole->second.text))
            : "it may be split, but the option 'split' is off";
    ExposureText text = describeExposure(
        problem.getProblem(), reason,
        [&](NodeId node) { return describe(problem.getOperation(node)); },
        splitting, isTransfer);
    auto remark = remark::missed(
        op->getLoc(),
        makeRemark(isTransfer ? "TransferExposed" : "CollectiveExposed",
                   function.getSymName()));
    remark << describe(op) + " is exposed for " +
                  std::to_string(reason.exposedNs) + " ns: " + text.limit +
                  "; to change that: " + text.remedy
           << remark::metric("ExposedNs", reason.exposedNs)
           << remark::metric("Reason", schedule::toString(reason.cause));
    if (reason.cause == ExposureCause::Memory)
      remark << remark::metric("BytesShort", reason.bytesShort);
    if (reason.gainNs)
      remark << remark::metric("GainNs", *reason.gainNs);
    if (whyWhole != notSplit.end() && scheduler.mayBeSplit() && !isTransfer)
      remarkNotSplit(function, op, whyWhole->second);
  }
  return success();
}

/// Emits the remarks on the decision, before it is applied. Returns why what
/// stays whole is not split.
static NotSplitReasons remarkDecision(func::FuncOp function,
                                      const DecidedBlock &block) {
  BlockScheduler &scheduler = *block.scheduler;
  scheduler.remarkAssumptions();
  remarkSchedule(function, scheduler, block.schedule);
  BlockSearch &start = scheduler.getStartOf(block.schedule);
  remarkSplitRegions(function, start, block.schedule);
  NotSplitReasons notSplit = explainNotSplit(start, block.schedule);
  const BlockSearch &reader = scheduler.getReaderOf(block.schedule);
  remarkMerging(function, reader, block.schedule);
  // A merged collective may get the address of a member.
  if (block.schedule.buckets)
    for (const schedule::Bucket &bucket :
         block.schedule.buckets->bucketing.buckets)
      for (NodeId start : bucket.starts)
        notSplit.erase(reader.getProblem().getOperation(start));
  return notSplit;
}

/// Emits the remarks on the collectives that are exposed in the schedule, after
/// it was applied, and if `isAgain`, the block scheduled again.
static LogicalResult remarkExposed(func::FuncOp function,
                                   const DecidedBlock &block, bool isAgain,
                                   const NotSplitReasons &notSplit,
                                   const SchedulingOptions &options) {
  if (!block.schedule.buckets && !isAgain)
    return remarkExposure(
        function, block.scheduler->getReaderOf(block.schedule),
        block.schedule.step.order, notSplit, block.schedule.limitBytes);
  // Merged collectives, and chunks of a second schedule, are operations that
  // the scheduler has not read.
  FailureOr<std::unique_ptr<BlockScheduler>> merged =
      BlockScheduler::create(function, block.scheduler->getBlock(), options,
                             [](Location, StringRef) {});
  if (failed(merged))
    return failure();
  return *merged ? remarkExposure(function, **merged,
                                  (*merged)->getProgram().step.order, notSplit,
                                  block.schedule.limitBytes)
                 : success();
}

//===----------------------------------------------------------------------===//
// Application
//===----------------------------------------------------------------------===//

/// Whether buckets of `schedule` have operations behind their copy-outs.
static bool hasTransposed(const BlockSearch &scheduler,
                          const BlockSchedule &schedule) {
  if (!schedule.buckets)
    return false;
  for (auto [bucket, price] : llvm::zip_equal(
           schedule.buckets->bucketing.buckets, schedule.buckets->prices))
    if (price.mode == BucketMode::Copy &&
        llvm::any_of(getMembers(scheduler.getProblem(), bucket.starts),
                     isTransposed))
      return true;
  return false;
}

/// Schedules a block again that was scheduled, at most so often and while that
/// is worth it, unless it begins with the order that the block has. Returns
/// whether anything may have changed.
static FailureOr<bool> scheduleAgain(func::FuncOp function, Block &block,
                                     SchedulingOptions options,
                                     int32_t numRounds) {
  bool hasRemarks = !options.isTrial && areRemarksEnabled(function);
  // Groups that are not known were remarked on before.
  options.isTrial = true;
  for (int32_t round = 0; round < numRounds; ++round) {
    FailureOr<std::shared_ptr<CostAnalysis>> costs =
        CostAnalysis::create(function);
    if (failed(costs))
      return failure();
    renewAssumedFusion(function, *(*costs)->getCosts());
    FailureOr<std::unique_ptr<BlockScheduler>> scheduler =
        BlockScheduler::create(
            function, block, options, [](Location, StringRef) {}, *costs);
    if (failed(scheduler))
      return failure();
    if (!*scheduler)
      return round > 0;
    FailureOr<BlockSchedule> schedule = (*scheduler)->scheduleWithinBudget();
    if (failed(schedule))
      return failure();
    const StepSchedule &program = (*scheduler)->getProgram().step;
    int64_t limitBytes = schedule->limitBytes;
    if (!options.beginsWithProgram &&
        !isBetter(schedule->step.rank(limitBytes), program.rank(limitBytes),
                  Gain::Worthwhile))
      return round > 0;
    (*scheduler)->begin(*schedule);
    if (hasRemarks && schedule->step.stepNs < program.stepNs) {
      remarkScheduled(function, block.getParentOp()->getLoc(), program,
                      *schedule);
      remarkSplitRegions(function, (*scheduler)->getStartOf(*schedule),
                         *schedule);
    }
    (*scheduler)->apply(*schedule);
  }
  return true;
}

FailureOr<AppliedSchedule>
mlir::commsched::applySchedule(func::FuncOp function, BlockScheduler &scheduler,
                               const BlockSchedule &schedule,
                               const SchedulingOptions &options) {
  constexpr NodeId maxNodes = 1 << 13;
  constexpr int32_t maxRounds = 3;
  bool isSmall = scheduler.isSmall();
  // In a small block chunks are compared for each budget step, and what they
  // gain afterwards would not be there for all larger budgets. Trials are
  // compared without.
  bool isRepeated = !isSmall && !options.isTrial &&
                    scheduler.getProblem().getProblem().numNodes() <= maxNodes;
  bool isNeeded =
      isRepeated ||
      (isSmall ? schedule.buckets != nullptr
               : hasTransposed(scheduler.getReaderOf(schedule), schedule));
  AppliedSchedule applied;
  applied.isChanged = scheduler.apply(schedule);
  if (!applied.isChanged || !isNeeded)
    return applied;
  SchedulingOptions again = options;
  if (!isRepeated) {
    again.splitting.split = ScheduleSplit::Off;
    again.beginsWithProgram |= !isSmall;
  }
  FailureOr<bool> isAgain = scheduleAgain(function, scheduler.getBlock(), again,
                                          isRepeated ? maxRounds : 1);
  if (failed(isAgain))
    return failure();
  applied.isAgain = *isAgain;
  return applied;
}

FailureOr<bool>
mlir::commsched::applyDecision(func::FuncOp function, const DecidedBlock &block,
                               const SchedulingOptions &options) {
  bool hasRemarks = areRemarksEnabled(function);
  block.scheduler->begin(block.schedule);
  NotSplitReasons notSplit;
  if (hasRemarks)
    notSplit = remarkDecision(function, block);
  FailureOr<AppliedSchedule> applied =
      applySchedule(function, *block.scheduler, block.schedule, options);
  if (failed(applied))
    return failure();
  // Chunks may get the address of what was in one piece.
  if (applied->isAgain)
    notSplit.clear();
  if (hasRemarks && failed(remarkExposed(function, block, applied->isAgain,
                                         notSplit, options)))
    return failure();
  return applied->isChanged;
}
