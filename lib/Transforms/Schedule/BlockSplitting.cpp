//===- BlockSplitting.cpp - Schedules of a block in chunks ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BlockScheduler.h"
#include "CommSched/Schedule/Model/Simulator.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

/// Why nothing in the block is split; none if it may be. Looks at the block
/// once, while it is as it was read.
std::optional<std::string> BlockSearch::getSplitObstacle() {
  if (options.splitting.split == ScheduleSplit::Off)
    return "the option 'split' is off";
  if (!splitObstacle)
    splitObstacle = getBlockSplitObstacle(block);
  return splitObstacle->empty() ? std::nullopt : splitObstacle;
}

/// Whether splitting could gain enough if it hid all communication, in any
/// order. As for merging, twice the least gain has to be in reach.
bool BlockSearch::mayGainBySplitting(const BlockSchedule &schedule) {
  if (!schedule::isWorthTrying(schedule.exposedNs, schedule.step.stepNs) ||
      getSplitObstacle())
    return false;
  if (!hasLarge)
    hasLarge = hasLargeComputation(block);
  return *hasLarge;
}

SplitChooser &BlockSearch::getOrMakeChooser() {
  if (!chooser)
    chooser = std::make_unique<SplitChooser>(block, problem, getCosts(),
                                             options.splitting);
  return *chooser;
}

/// What has read the copy that `choice` makes; null if that cannot be
/// scheduled.
FailureOr<BlockSearch *> BlockSearch::getOrMakeSplit(SplitChoice choice) {
  for (const std::unique_ptr<BlockSearch> &known : splits)
    if (known->split->getChoice().regions == choice.regions)
      return known.get();
  LLVM_DEBUG(llvm::dbgs() << DEBUG_TYPE ": splitting " << choice.rule << "\n");
  auto program = std::make_unique<SplitProgram>(
      function, block, problem, *chooser, std::move(choice), getCosts());
  std::unique_ptr<BlockSearch> search(
      new BlockSearch(function, program->getBlock(), options, pricing));
  search->split = std::move(program);
  // In chunks the same computation is more operations.
  constexpr int32_t splitDistance = 16;
  search->distanceFactor = splitDistance;
  FailureOr<bool> isRead =
      search->read([](Location, StringRef) {}, &contention);
  if (failed(isRead))
    return failure();
  if (!*isRead)
    return nullptr;
  splits.push_back(std::move(search));
  return splits.back().get();
}

/// Whether merging may pay in the program in chunks of `choice`. It costs
/// several times what scheduling does. Where it was tried in vain without
/// splitting, it is tried again only if collectives that stay in one piece are
/// exposed for more than an eighth of the step, by `exposedNs` of the
/// operations.
static bool mayMergeSplit(const SplitChoice &choice, const BlockSchedule &whole,
                          ArrayRef<int64_t> exposedNs) {
  if (whole.buckets || !whole.rejected)
    return true;
  int64_t sumNs = 0;
  for (auto [node, ns] : llvm::enumerate(exposedNs))
    if (choice.program->specOf(static_cast<schedule::NodeId>(node)) < 0)
      sumNs += ns;
  return sumNs > whole.step.stepNs / 8;
}

/// What is kept of a split schedule that is not taken.
static RejectedWay reject(const BlockSchedule &schedule) {
  return {schedule.split->getSplit().getChoice().rule, schedule.step.stepNs,
          schedule.step.peakBytes};
}

/// The best schedule of all ways to split that are worth it, if there is one.
/// `unmerged` is what the program takes without buckets.
FailureOr<std::optional<BlockSchedule>>
BlockSearch::findSplit(const BlockSchedule &whole,
                       const schedule::Rank &unmerged) {
  FailureOr<Timeline> timeline =
      unwrap(simulate(problem.getProblem(), whole.blockOrder, contention));
  if (failed(timeline))
    return failure();
  std::optional<BlockSchedule> best;
  for (SplitChoice &choice : getOrMakeChooser().choose(
           timeline->exposedNs, makeStepOptions(whole.limitBytes))) {
    bool mayMerge = mayMergeSplit(choice, whole, timeline->exposedNs);
    FailureOr<BlockSearch *> copy = getOrMakeSplit(std::move(choice));
    if (failed(copy))
      return failure();
    if (!*copy)
      continue;
    FailureOr<StepSchedule> step = (*copy)->scheduleUnmerged(whole.limitBytes);
    if (failed(step))
      return failure();
    // What is too large already hardly takes less with buckets. What chunks do
    // not make shorter seldom becomes shorter than the whole with buckets in
    // both, and where that takes long, it is not tried.
    schedule::Rank rank = step->rank(whole.limitBytes);
    bool isHopeless = (whole.step.fits(whole.limitBytes) && rank.isOver) ||
                      (!isSmall() && !isBetter(rank, unmerged));
    FailureOr<BlockSchedule> found =
        isHopeless ? (*copy)->measure(std::move(*step), /*buckets=*/nullptr,
                                      whole.limitBytes)
                   : (*copy)->findWhole(*step, whole.limitBytes, mayMerge);
    if (failed(found))
      return failure();
    if (best && !isBetter(found->step.rank(whole.limitBytes),
                          best->step.rank(whole.limitBytes), Gain::Worthwhile))
      continue;
    found->split = *copy;
    if (best)
      found->rejectedSplit = reject(*best);
    best = std::move(*found);
  }
  return best;
}

SplitObstacle BlockSearch::explainNotSplit(Operation *start,
                                           const BlockSchedule &schedule) {
  if (std::optional<std::string> obstacle = getSplitObstacle())
    return {*obstacle, std::nullopt};
  SplitChooser &known = getOrMakeChooser();
  if (std::optional<SplitObstacle> obstacle = known.explain(start))
    return *obstacle;
  if (schedule.split)
    if (std::optional<SplitObstacle> shared =
            known.findShared(start, schedule.split->getSplit().getChoice()))
      return *shared;
  if (schedule.rejectedSplit) {
    const RejectedWay &rejected = *schedule.rejectedSplit;
    return {"splitting " + rejected.rule + " would make a step of " +
                std::to_string(rejected.stepNs) + " ns and " +
                std::to_string(rejected.peakBytes) + " bytes, without it is " +
                std::to_string(schedule.step.stepNs) + " ns, for a budget of " +
                std::to_string(schedule.limitBytes),
            std::nullopt};
  }
  return {"too little of the step is exposed", std::nullopt};
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

FailureOr<BlockSchedule> BlockSearch::find(int64_t limitBytes) {
  FailureOr<StepSchedule> unmerged = scheduleUnmerged(limitBytes);
  return failed(unmerged) ? FailureOr<BlockSchedule>(failure())
                          : find(*unmerged, limitBytes);
}

FailureOr<BlockSchedule> BlockSearch::find(const StepSchedule &unmerged,
                                           int64_t limitBytes) {
  FailureOr<BlockSchedule> whole = findWhole(unmerged, limitBytes);
  if (failed(whole) || !mayGainBySplitting(*whole))
    return whole;
  FailureOr<std::optional<BlockSchedule>> split =
      findSplit(*whole, unmerged.rank(limitBytes));
  if (failed(split))
    return failure();
  if (!*split)
    return whole;
  if (isBetter((*split)->step.rank(limitBytes), whole->step.rank(limitBytes),
               Gain::Worthwhile))
    return std::move(**split);
  whole->rejectedSplit = reject(**split);
  return whole;
}

FailureOr<std::optional<BlockSchedule>>
BlockSearch::splitProgram(int64_t limitBytes) {
  BlockSchedule whole = program;
  whole.limitBytes = limitBytes;
  FailureOr<std::optional<BlockSchedule>> split =
      findSplit(whole, whole.step.rank(limitBytes));
  if (succeeded(split) && *split &&
      !isBetter((*split)->step.rank(limitBytes), whole.step.rank(limitBytes),
                Gain::Worthwhile))
    split->reset();
  return split;
}
