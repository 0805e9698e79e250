//===- SplitSchedules.cpp - Schedules of a block in chunks ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "BlockScheduler.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Schedule/Model/Simulator.h"
#include "llvm/Support/Debug.h"

#define DEBUG_TYPE "commsched-schedule"

using namespace mlir;
using namespace mlir::commsched;
using schedule::Gain;
using schedule::Timeline;

/// Why nothing in `block` is split, whatever it gains; empty if it may be.
static std::string findSplitObstacle(Block &block) {
  for (Operation &op : block) {
    // What was split once keeps its chunks.
    if (op.hasAttr(chunkAttrName))
      return "the program has chunks already";
    for (Operation *user : op.getUsers())
      if (!block.findAncestorOpInBlock(*user))
        return "the block computes " + describe(&op) +
               ", which another block uses";
    // Their blocks have schedules of their own, which a copy would not have.
    bool holdsCollectives = false;
    for (Region &region : op.getRegions())
      region.walk([&](CollectiveOpInterface) { holdsCollectives = true; });
    if (holdsCollectives)
      return "the block has " + describe(&op) + ", which holds collectives";
  }
  return "";
}

/// Why nothing in the block is split; none if it may be. Looks at the block
/// once, while it is as it was read.
std::optional<std::string> BlockScheduler::getSplitObstacle() {
  if (options->splitting.split == ScheduleSplit::Off)
    return "the option 'split' is off";
  if (!splitObstacle)
    splitObstacle = findSplitObstacle(*block);
  return splitObstacle->empty() ? std::nullopt : splitObstacle;
}

/// Whether splitting could gain enough if it hid all communication. As for
/// merging, twice the least gain has to be in reach.
bool BlockScheduler::mayGainBySplitting(const BlockSchedule &schedule) {
  return schedule::isWorthTrying(schedule.exposedNs, schedule.step.stepNs) &&
         !getSplitObstacle();
}

FailureOr<SplitBlock *> BlockScheduler::makeSplitBlock(SplitChoice choice) {
  auto isSame = [&](const std::unique_ptr<SplitBlock> &other) {
    return other->program.getChoice().regions == choice.regions;
  };
  if (auto it = llvm::find_if(splits, isSame); it != splits.end())
    return it->get();
  std::unique_ptr<SplitBlock> split(
      new SplitBlock{{function, *block, *problem, *chooser, std::move(choice),
                      *pricing->getCosts()},
                     nullptr});
  FailureOr<std::optional<BlockScheduler>> scheduler = read(
      function, split->program.getBlock(), *options, pricing,
      [](Location, StringRef) {}, this);
  if (failed(scheduler))
    return failure();
  if (!*scheduler)
    return nullptr;
  split->scheduler = std::make_unique<BlockScheduler>(std::move(**scheduler));
  splits.push_back(std::move(split));
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

/// The best schedule of `choice`, with buckets if it `mayMerge`, if there is
/// one.
FailureOr<std::optional<BlockSchedule>>
BlockScheduler::scheduleSplit(SplitChoice choice, int64_t limitBytes,
                              bool mayMerge) {
  using Outcome = std::optional<BlockSchedule>;
  LLVM_DEBUG(llvm::dbgs() << DEBUG_TYPE ": splitting " << choice.rule << "\n");
  FailureOr<SplitBlock *> split = makeSplitBlock(std::move(choice));
  if (failed(split))
    return failure();
  if (!*split)
    return Outcome();
  FailureOr<BlockSchedule> schedule =
      (*split)->scheduler->scheduleWhole(limitBytes, mayMerge);
  if (failed(schedule))
    return failure();
  schedule->split = *split;
  return Outcome(std::move(*schedule));
}

/// What is kept of a split schedule that is not taken.
static RejectedSplit reject(const BlockSchedule &schedule) {
  return {schedule.split->program.getChoice().rule, schedule.step.stepNs,
          schedule.step.peakBytes};
}

/// The best schedule of all ways to split that are worth it, if there is one.
FailureOr<std::optional<BlockSchedule>>
BlockScheduler::scheduleBestSplit(const BlockSchedule &whole) {
  Result<Timeline> timeline =
      simulate(problem->getProblem(), whole.blockOrder, contention);
  if (!timeline)
    return emitError(block->getParentOp()->getLoc(), "cannot be scheduled: ")
           << timeline.error();
  std::optional<BlockSchedule> best;
  for (SplitChoice &choice : getOrMakeChooser().choose(
           timeline->exposedNs, makeStepOptions(whole.limitBytes))) {
    bool mayMerge = mayMergeSplit(choice, whole, timeline->exposedNs);
    FailureOr<std::optional<BlockSchedule>> split =
        scheduleSplit(std::move(choice), whole.limitBytes, mayMerge);
    if (failed(split))
      return failure();
    if (!*split)
      continue;
    if (!best) {
      best = std::move(*split);
      continue;
    }
    if (!isBetter((*split)->step.rank(whole.limitBytes),
                  best->step.rank(whole.limitBytes), Gain::Worthwhile))
      continue;
    RejectedSplit rejected = reject(*best);
    best = std::move(*split);
    best->rejectedSplit = rejected;
  }
  return best;
}

FailureOr<BlockSchedule> BlockScheduler::scheduleOnce(int64_t limitBytes) {
  FailureOr<BlockSchedule> whole = scheduleWhole(limitBytes);
  if (failed(whole) || !mayGainBySplitting(*whole))
    return whole;
  FailureOr<std::optional<BlockSchedule>> split = scheduleBestSplit(*whole);
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

SplitChooser &BlockScheduler::getOrMakeChooser() {
  if (!chooser)
    chooser = std::make_unique<SplitChooser>(
        *block, *problem, *pricing->getCosts(), options->splitting);
  return *chooser;
}

SplitObstacle BlockScheduler::explainNotSplit(Operation *start,
                                              const BlockSchedule &schedule) {
  if (std::optional<std::string> obstacle = getSplitObstacle())
    return {*obstacle, std::nullopt};
  SplitChooser &known = getOrMakeChooser();
  if (std::optional<SplitObstacle> obstacle = known.explain(start))
    return *obstacle;
  if (schedule.split)
    if (std::optional<SplitObstacle> shared =
            known.findShared(start, schedule.split->program.getChoice()))
      return *shared;
  if (schedule.rejectedSplit) {
    const RejectedSplit &rejected = *schedule.rejectedSplit;
    return {"splitting " + rejected.rule + " would make a step of " +
                std::to_string(rejected.stepNs) + " ns and " +
                std::to_string(rejected.peakBytes) + " bytes, without it is " +
                std::to_string(schedule.step.stepNs) + " ns, for a budget of " +
                std::to_string(schedule.limitBytes),
            std::nullopt};
  }
  return {"too little of the step is exposed", std::nullopt};
}

#undef DEBUG_TYPE
