//===- BlockSearch.cpp - Schedules of a block for one limit ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BlockScheduler.h"
#include "CommSched/Schedule/Allocator/CachingAllocator.h"
#include "CommSched/Schedule/Bounds/LowerBounds.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/ProblemTransforms.h"
#include "CommSched/Schedule/Model/Simulator.h"
#include "CommSched/Support/Unlimited.h"
#include "mlir/IR/Threading.h"
#include "llvm/Support/Debug.h"

#define DEBUG_TYPE "commsched-schedule"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

/// Whether it is worth trying to merge, which costs several times what
/// scheduling does.
FailureOr<bool> BlockSearch::mayGainByMerging(const StepSchedule &schedule,
                                              int64_t limitBytes) {
  if (options.buckets == ScheduleBuckets::Off)
    return false;
  return schedule.fits(limitBytes) ? mayGain(schedule.stepNs) : true;
}

MergingSearch &BlockSearch::getOrMakeMerging() {
  if (!merging)
    merging = std::make_unique<MergingSearch>(function, block, problem,
                                              options.merging, getCosts());
  return *merging;
}

/// Schedules the merged program of `choice` from `start`. Returns `known`
/// unless that is better.
static Result<StepSchedule>
improveMerged(const BucketChoice &choice, StepSchedule known,
              const Order &start, StepSolver solver,
              const StepSchedulerOptions &stepOptions) {
  Result<StepSchedule> other =
      scheduleMerged(choice, start, solver, stepOptions);
  if (!other || isBetter(other->rank(stepOptions.limitBytes),
                         known.rank(stepOptions.limitBytes)))
    return other;
  return known;
}

/// What schedule::improveStep() makes of the order of the program.
static Result<StepSchedule>
improveProgram(const Problem &problem,
               const StepSchedulerOptions &stepOptions) {
  Result<StepSchedule> program =
      measureStep(problem, problem.programOrder(), stepOptions.contention);
  return program ? improveStep(problem, std::move(*program), stepOptions)
                 : program;
}

/// What improveProgram() makes of a schedule of a merged program, repeated
/// while that gains.
static Result<StepSchedule>
improveBuckets(const BucketChoice &choice, StepSchedule known,
               const StepSchedulerOptions &stepOptions) {
  constexpr int32_t maxRounds = 4;
  bool isWorthwhile = true;
  for (int32_t round = 0; isWorthwhile && round < maxRounds; ++round) {
    Result<StepSchedule> next =
        improveMerged(choice, known, known.order, improveProgram, stepOptions);
    if (!next)
      return next;
    isWorthwhile =
        isBetter(next->rank(stepOptions.limitBytes),
                 known.rank(stepOptions.limitBytes), Gain::Worthwhile);
    known = std::move(*next);
  }
  return known;
}

/// Improves a schedule of a merged program from its own order or from that of
/// the program, which starts collectives in an order of its own.
static Result<StepSchedule>
improveMergedFrom(const BucketChoice &choice, const StepSchedule &known,
                  bool isFromProgram, const StepSchedulerOptions &stepOptions) {
  if (!isFromProgram)
    return improveMerged(choice, known, known.order, schedule::scheduleStepOnce,
                         stepOptions);
  Result<Order> program = choice.merged->place({});
  if (!program)
    return Error{program.error()};
  return improveMerged(choice, known, *program, schedule::scheduleStepOnce,
                       stepOptions);
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

/// Options for schedules with which others begin: all but the smallest steps
/// are searched later.
static StepSchedulerOptions withLittleEffort(StepSchedulerOptions stepOptions) {
  stepOptions.effort /= 16;
  return stepOptions;
}

/// Options for schedules that are compared with others: once the best is known,
/// collectives get their slack.
static StepSchedulerOptions withoutSlack(StepSchedulerOptions stepOptions) {
  stepOptions.slackPercent = 0;
  return stepOptions;
}

/// Improves each of them from both orders.
LogicalResult
BlockSearch::improveAll(MutableArrayRef<MergingSearch::Candidate> merged,
                        const StepSchedulerOptions &stepOptions) {
  std::vector<StepSchedule> improved(2 * merged.size());
  auto improve = [&](size_t index) -> LogicalResult {
    const MergingSearch::Candidate &candidate = merged[index / 2];
    FailureOr<StepSchedule> step = unwrap(
        improveMergedFrom(*candidate.choice, candidate.step,
                          /*isFromProgram=*/index % 2 == 1, stepOptions));
    if (succeeded(step))
      improved[index] = std::move(*step);
    return step;
  };
  if (failed(failableParallelForEachN(function.getContext(), 0, improved.size(),
                                      improve)))
    return failure();
  for (auto [index, candidate] : llvm::enumerate(merged)) {
    bool isLaterBetter =
        isBetter(improved[2 * index + 1].rank(stepOptions.limitBytes),
                 improved[2 * index].rank(stepOptions.limitBytes));
    candidate.step = std::move(improved[2 * index + isLaterBetter]);
    traceSchedule("schedule of merging", candidate.choice->rule, candidate.step,
                  stepOptions.limitBytes);
  }
  return success();
}

/// Whether late starts in an order of computation, which take about the least
/// memory, are within the limit.
static bool mayFit(const Problem &program, int64_t limitBytes) {
  Result<Order> late = schedule::startLate(program);
  if (!late)
    return true;
  Result<schedule::MemoryTimeline> memory = simulateMemory(program, *late);
  return !memory || memory->peakBytes <= limitBytes;
}

/// Whether a schedule that was found for another limit is within this one, or
/// others that improveMergedFrom() makes may be.
static bool mayFit(const MergingSearch::Candidate &candidate,
                   int64_t limitBytes) {
  const Problem &problem = candidate.choice->merged->getProblem();
  return candidate.step.fits(limitBytes) || mayFit(problem, limitBytes) ||
         mayFit(schedule::renumber(problem, candidate.step.order), limitBytes);
}

/// Leaves out the ways that no order makes shorter than the best sketch is.
static void leaveOutLonger(SmallVectorImpl<MergingSearch::Candidate> &merged,
                           int64_t limitBytes) {
  int64_t leastNs = unlimited;
  for (const MergingSearch::Candidate &candidate : merged)
    if (candidate.step.fits(limitBytes))
      leastNs = std::min(leastNs, candidate.step.stepNs);
  llvm::erase_if(merged, [&](const MergingSearch::Candidate &candidate) {
    if (candidate.step.stepNs <= leastNs)
      return false;
    Result<schedule::TightLowerBound> bound =
        computeTightLowerBound(candidate.choice->merged->getProblem());
    return bound && bound->ns >= leastNs;
  });
}

/// The most promising ways to merge, each with a schedule.
FailureOr<SmallVector<MergingSearch::Candidate>>
BlockSearch::findMerged(const Order &unmerged,
                        const StepSchedulerOptions &stepOptions) {
  // A sketch says little about small programs, which are scheduled soon.
  constexpr size_t leastPromising = 2, mostPromising = 8,
                   numOperations = 1 << 13;
  size_t numPromising =
      std::clamp(numOperations / (problem.getProblem().numNodes() + 1),
                 leastPromising, mostPromising);
  FailureOr<int64_t> boundNs = getOrComputeBoundNs();
  if (failed(boundNs))
    return failure();
  FailureOr<SmallVector<MergingSearch::Candidate>> promising =
      getOrMakeMerging().findPromising(unmerged, stepOptions, *boundNs,
                                       numPromising);
  if (failed(promising))
    return failure();
  // What was found for other limits, unless it is over this one and others are
  // not.
  bool fits = llvm::any_of(*promising, [&](const auto &candidate) {
    return candidate.step.fits(stepOptions.limitBytes);
  });
  for (const std::optional<MergingSearch::Candidate> &known :
       {lastMerged, isSmall() ? std::nullopt : unlimitedMerged})
    if (known && (!fits || mayFit(*known, stepOptions.limitBytes)) &&
        llvm::none_of(*promising, [&](const auto &candidate) {
          return candidate.choice == known->choice &&
                 candidate.step.order == known->step.order;
        }))
      promising->push_back(*known);
  leaveOutLonger(*promising, stepOptions.limitBytes);
  if (failed(
          improveAll(*promising, withoutSlack(withLittleEffort(stepOptions)))))
    return failure();
  return promising;
}

/// What refinement makes of the best way to merge. If a refinement for another
/// limit has made that: also of the best one of the others, which may lead
/// elsewhere, unless that takes much longer.
FailureOr<MergingSearch::Candidate>
BlockSearch::refineBest(ArrayRef<MergingSearch::Candidate> merged,
                        const StepSchedulerOptions &stepOptions) {
  auto getRank = [&](const MergingSearch::Candidate &candidate) {
    return candidate.step.rank(stepOptions.limitBytes);
  };
  auto isBefore = [&](const MergingSearch::Candidate &a,
                      const MergingSearch::Candidate &b) {
    return isBetter(getRank(a), getRank(b));
  };
  const MergingSearch::Candidate *best = llvm::min_element(merged, isBefore);
  FailureOr<MergingSearch::Candidate> refined =
      getOrMakeMerging().refine(*best, stepOptions);
  if (failed(refined) || !best->isRefined)
    return refined;
  auto others = llvm::to_vector(llvm::make_filter_range(
      merged, [&](const MergingSearch::Candidate &candidate) {
        return !candidate.isRefined && !getRank(candidate).isOver &&
               candidate.step.stepNs / 32 * 31 < best->step.stepNs;
      }));
  if (others.empty())
    return refined;
  FailureOr<MergingSearch::Candidate> other = getOrMakeMerging().refine(
      *llvm::min_element(others, isBefore), stepOptions);
  return failed(other) || isBefore(*other, *refined) ? other : refined;
}

/// Schedules what refinement has made and, in a small block, the other ways to
/// merge that are nearly as good: there, once more may change which is best.
FailureOr<MergingSearch::Candidate>
BlockSearch::scheduleNearlyBest(MergingSearch::Candidate refined,
                                ArrayRef<MergingSearch::Candidate> merged,
                                const StepSchedulerOptions &stepOptions) {
  SmallVector<MergingSearch::Candidate> candidates = {std::move(refined)};
  if (isSmall())
    llvm::copy_if(merged, std::back_inserter(candidates),
                  [&](const MergingSearch::Candidate &other) {
                    const StepSchedule &best = candidates.front().step;
                    return other.choice != candidates.front().choice &&
                           other.step.fits(stepOptions.limitBytes) &&
                           other.step.stepNs / 64 * 63 <= best.stepNs;
                  });
  if (failed(improveAll(candidates, withLittleEffort(stepOptions))))
    return failure();
  return *llvm::min_element(candidates, [&](const auto &a, const auto &b) {
    return isBetter(a.step.rank(stepOptions.limitBytes),
                    b.step.rank(stepOptions.limitBytes));
  });
}

FailureOr<BlockSchedule> BlockSearch::findUnmerged(int64_t limitBytes) const {
  FailureOr<StepSchedule> found = unwrap(schedule::scheduleStepOnce(
      problem.getProblem(), withLittleEffort(makeStepOptions(limitBytes))));
  if (failed(found))
    return failure();
  return measure(std::move(*found), /*buckets=*/nullptr, limitBytes);
}

FailureOr<BlockSchedule>
BlockSearch::improve(const BlockSchedule &known) const {
  BlockSchedule result = known;
  if (known.split) {
    result.split = nullptr;
    FailureOr<BlockSchedule> improved = known.split->improve(result);
    if (succeeded(improved))
      improved->split = known.split;
    return improved;
  }
  StepSchedulerOptions stepOptions = makeStepOptions(known.limitBytes);
  FailureOr<StepSchedule> step = unwrap(
      known.buckets ? improveBuckets(*known.buckets, known.step, stepOptions)
                    : schedule::improveStep(problem.getProblem(), known.step,
                                            stepOptions));
  if (failed(step))
    return failure();
  if (!isBetter(step->rank(known.limitBytes),
                known.step.rank(known.limitBytes)))
    return result;
  FailureOr<BlockSchedule> improved =
      measure(std::move(*step), known.buckets, known.limitBytes);
  if (failed(improved))
    return failure();
  result.step = std::move(improved->step);
  result.blockOrder = std::move(improved->blockOrder);
  result.exposedNs = improved->exposedNs;
  return result;
}

FailureOr<StepSchedule>
BlockSearch::scheduleUnmerged(int64_t limitBytes) const {
  FailureOr<StepSchedule> unmerged = unwrap(schedule::scheduleStepOnce(
      problem.getProblem(),
      withoutSlack(withLittleEffort(makeStepOptions(limitBytes)))));
  if (succeeded(unmerged))
    traceSchedule("schedule", "without merging", *unmerged, limitBytes);
  return unmerged;
}

/// The best schedule without splitting.
FailureOr<BlockSchedule> BlockSearch::findWhole(const StepSchedule &unmerged,
                                                int64_t limitBytes,
                                                bool mayMerge) {
  StepSchedulerOptions stepOptions = makeStepOptions(limitBytes);
  FailureOr<bool> mayGain = mayGainByMerging(unmerged, limitBytes);
  if (failed(mayGain))
    return failure();
  if (!mayMerge || !*mayGain)
    return findUnmerged(limitBytes);
  FailureOr<SmallVector<MergingSearch::Candidate>> merged =
      findMerged(unmerged.order, stepOptions);
  if (failed(merged))
    return failure();
  auto steps = llvm::map_to_vector(
      *merged, [](const auto &candidate) { return candidate.step; });
  if (isSmall() && !findBest(unmerged, steps, limitBytes))
    // Where no rule fits, single buckets may.
    if (std::optional<MergingSearch::Candidate> start =
            getOrMakeMerging().startUnmerged(unmerged)) {
      FailureOr<MergingSearch::Candidate> refined =
          getOrMakeMerging().refine(*start, stepOptions);
      if (failed(refined))
        return failure();
      if (refined->choice != start->choice) {
        merged->push_back(*refined);
        steps.push_back(refined->step);
      }
    }
  if (findBest(unmerged, steps, limitBytes)) {
    FailureOr<MergingSearch::Candidate> refined =
        refineBest(*merged, stepOptions);
    if (failed(refined))
      return failure();
    FailureOr<MergingSearch::Candidate> best =
        scheduleNearlyBest(std::move(*refined), *merged, stepOptions);
    if (failed(best))
      return failure();
    const BucketChoice *choice = best->choice;
    traceSchedule("chosen: merging", choice->rule, best->step, limitBytes);
    lastMerged = *best;
    if (limitBytes == unlimited)
      unlimitedMerged = *best;
    return measure(std::move(best->step), choice, limitBytes);
  }
  traceSchedule("chosen:", "no merging, which saves too little", unmerged,
                limitBytes);
  FailureOr<BlockSchedule> result = findUnmerged(limitBytes);
  if (succeeded(result) && !merged->empty())
    // The first has the best sketch.
    result->rejected = {merged->front().choice->rule, steps.front().stepNs,
                        steps.front().peakBytes};
  return result;
}

//===----------------------------------------------------------------------===//
// Measurement
//===----------------------------------------------------------------------===//

FailureOr<int64_t>
BlockSearch::computeLowerBoundNs(const BlockSchedule &schedule) const {
  FailureOr<schedule::TightLowerBound> bound =
      unwrap(computeTightLowerBound(getProblemOf(schedule)));
  if (failed(bound))
    return failure();
  return bound->ns;
}

FailureOr<int64_t>
BlockSearch::computeReservedBytes(const BlockSchedule &schedule) const {
  const Problem &known = getProblemOf(schedule);
  FailureOr<Timeline> timeline =
      unwrap(simulate(known, schedule.step.order, contention));
  if (failed(timeline))
    return failure();
  FailureOr<ReservedMemory> memory = unwrap(replayAllocations(
      known, schedule.step.order, *timeline, *options.budgetAllocator));
  if (failed(memory))
    return failure();
  return memory->reservedBytes;
}

#undef DEBUG_TYPE
