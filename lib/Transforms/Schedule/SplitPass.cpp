//===- SplitPass.cpp - Pass that splits collectives -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "../Split/SplitRewrite.h"
#include "BlockScheduler.h"
#include "CommSched/Transforms/Passes.h"
#include "SchedulingPass.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_SPLIT
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

/// The clause about an operation at which a region ends.
static std::string getText(const SplitStop &stop) {
  return describe(stop.op) + " (" + getLocationText(stop.op->getLoc()) + ") " +
         stop.reason;
}

static void remarkSplit(func::FuncOp function, const SplitRegion &region,
                        int64_t count, ArrayRef<SplitStop> stops) {
  if (!areRemarksEnabled(function))
    return;
  std::string behind;
  if (!stops.empty())
    behind = "; " + getText(stops.front());
  for (Operation *start : region.collectives)
    remark::passed(start->getLoc(),
                   makeRemark("CollectiveSplit", function.getSymName()))
        << describeSplit(start, region, count) + behind
        << remark::metric("Chunks", count);
  if (!stops.empty())
    remarkSplitEnd(function, stops.front().op->getLoc(),
                   region.collectives.front(), getText(stops.front()));
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

namespace {

/// Chooses the regions of one block that are split: of those that overlap, the
/// first in the program.
class ForcedChoice {
public:
  ForcedChoice(func::FuncOp function, const SplitRegions &regions,
               SplitExtent extent, int64_t count)
      : function(function), regions(regions), extent(extent), count(count) {}

  /// The number of chunks of a region.
  int64_t getCount(const SplitRegion &region) const {
    return region.ringSize ? region.ringSize : count;
  }

  SmallVector<int32_t> choose();

private:
  /// Why the region cannot be taken; none if it can.
  std::optional<SplitObstacle> getObstacle(const SplitRegion &region) const;
  void chooseFor(const SplitRegions::Seed &seed);

  func::FuncOp function;
  const SplitRegions &regions;
  SplitExtent extent;
  int64_t count;
  SmallVector<int32_t> chosen;
  DenseSet<Operation *> taken;
};

} // namespace

std::optional<SplitObstacle>
ForcedChoice::getObstacle(const SplitRegion &region) const {
  int64_t chunks = getCount(region);
  if (const SplitMember *member = findUndivided(region, chunks))
    return SplitObstacle{
        std::to_string(chunks) + " chunks do not divide the " +
            std::to_string(getSplitLength(member->axis, member->blocks)) +
            " elements along the axis of " + describe(member->op) + " (" +
            getLocationText(member->op->getLoc()) + ")",
        member->op->getLoc()};
  if (std::optional<SplitStop> stop = getUnjoinableReason(region))
    return SplitObstacle{getText(*stop), stop->op->getLoc()};
  for (const SplitMember &member : region.members)
    if (taken.contains(member.op))
      return SplitObstacle{describe(member.op) + " (" +
                               getLocationText(member.op->getLoc()) +
                               ") is split with another collective",
                           member.op->getLoc()};
  return std::nullopt;
}

void ForcedChoice::chooseFor(const SplitRegions::Seed &seed) {
  if (taken.contains(seed.start))
    return;
  std::optional<SplitObstacle> obstacle;
  for (int32_t number :
       extent == SplitExtent::Nearest ? seed.nearest : seed.widest) {
    const SplitRegion &region = regions.getRegions()[number];
    std::optional<SplitObstacle> own = getObstacle(region);
    if (!own) {
      for (const SplitMember &member : region.members)
        taken.insert(member.op);
      chosen.push_back(number);
      return;
    }
    if (!obstacle)
      obstacle = own;
  }
  if (!obstacle && !seed.stops.empty())
    obstacle = {getText(seed.stops.front()), seed.stops.front().op->getLoc()};
  if (!obstacle)
    obstacle = {"no product or attention divides along with it", std::nullopt};
  if (obstacle->place == seed.start->getLoc())
    obstacle->place.reset();
  if (areRemarksEnabled(function))
    remarkNotSplit(function, seed.start, *obstacle);
}

SmallVector<int32_t> ForcedChoice::choose() {
  for (const SplitRegions::Seed &seed : regions.getSeeds())
    chooseFor(seed);
  return chosen;
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {

struct Split : RewritingPass<mlir::commsched::impl::SplitBase<Split>> {
  using RewritingPass::RewritingPass;

  LogicalResult initialize(MLIRContext *context) override {
    return reportOptionError(context, findBadOption());
  }

  FailureOr<bool> rewrite() override {
    func::FuncOp function = getOperation();
    scheduling.splitting.split =
        bitwise ? ScheduleSplit::Auto : ScheduleSplit::Sums;
    scheduling.splitting.maxChunks = maxChunks;
    // What stays whole keeps its place.
    scheduling.beginsWithProgram = true;
    if (extent == SplitReach::Nearest)
      scheduling.splitting.extent = SplitExtent::Nearest;
    if (extent == SplitReach::Widest)
      scheduling.splitting.extent = SplitExtent::Widest;
    FailureOr<std::shared_ptr<CostAnalysis>> created =
        CostAnalysis::create(function);
    if (failed(created))
      return failure();
    pricing = std::move(*created);
    return rewriteBlocks(getBlocksWithCollectives(function), [&](Block &block) {
      return isForced() ? splitAll(block) : splitByPrice(block);
    });
  }

private:
  /// Whether all that can be is split, not what makes the step shorter.
  bool isForced() const { return chunks != 0 || mode == SplitMode::Ring; }

  std::optional<std::string> findBadOption() {
    constexpr int64_t most = 64;
    constexpr int32_t mostPriced = 8;
    if (chunks != 0 && (chunks < 2 || chunks > most))
      return makeOptionError(*this, chunks,
                             "must be 0 or from 2 to " + Twine(most) +
                                 ", but is " + Twine(chunks));
    if (chunks != 0 && mode == SplitMode::Ring)
      return makeOptionError(*this, chunks,
                             "must be 0 with 'mode=ring', whose chunks are "
                             "the ranks, but is " +
                                 Twine(chunks));
    if (maxChunks < 2 || maxChunks > mostPriced)
      return makeOptionError(*this, maxChunks,
                             "must be from 2 to " + Twine(mostPriced) +
                                 ", but is " + Twine(maxChunks));
    return findUnread(*this, {{maxChunks, isChanged(maxChunks), !isForced(),
                               "means nothing with 'chunks' or 'mode=ring'"},
                              {bitwise, !bitwise, mode != SplitMode::Ring,
                               "means nothing with 'mode=ring'"}});
  }

  /// Splits all regions of the block.
  FailureOr<bool> splitAll(Block &block) {
    SplitRegionOptions options;
    options.rings = mode == SplitMode::Ring;
    options.allowSums = !bitwise && !options.rings;
    SplitRegions regions(block, options);
    SplitExtent reach =
        scheduling.splitting.extent.value_or(SplitExtent::Nearest);
    ForcedChoice choice(getOperation(), regions, reach, chunks);
    SmallVector<int32_t> chosen = choice.choose();
    if (chosen.empty())
      return false;
    ChunkNames names(block);
    for (int32_t number : chosen) {
      const SplitRegion &region = regions.getRegions()[number];
      remarkSplit(getOperation(), region, choice.getCount(region),
                  regions.getStops(region, /*limit=*/1));
    }
    for (int32_t number : chosen) {
      const SplitRegion &region = regions.getRegions()[number];
      splitRegion(region, choice.getCount(region), names, *pricing->getCosts());
    }
    if (failed(orderChunks(block)))
      return failure();
    return true;
  }

  /// Splits the regions that commsched-schedule would.
  FailureOr<bool> splitByPrice(Block &block) {
    FailureOr<std::unique_ptr<BlockScheduler>> scheduler =
        BlockScheduler::create(getOperation(), block, scheduling,
                               /*decline=*/nullptr, pricing);
    if (failed(scheduler))
      return failure();
    if (!*scheduler)
      return false;
    BlockScheduler &known = **scheduler;
    FailureOr<BlockSchedule> schedule =
        known.schedule(known.getLimitBytes(scheduling.budget));
    if (failed(schedule))
      return failure();
    if (areRemarksEnabled(getOperation())) {
      remarkSplitRegions(getOperation(), known, *schedule);
      remarkWhole(known, *schedule);
    }
    if (!schedule->split)
      return false;
    keepBaselineBytes(getOperation(), block, known.getProgram().step.peakBytes);
    ChunkNames names(block);
    for (const SplitChoice::Region &choice :
         schedule->split->getSplit().getChoice().regions)
      splitRegion(known.getChooser()->getRegion(choice.region), choice.chunks,
                  names, *pricing->getCosts());
    if (failed(orderChunks(block)))
      return failure();
    return true;
  }

  /// Emits a remark on each collective that `schedule` does not split.
  void remarkWhole(BlockScheduler &known, const BlockSchedule &schedule) {
    const BlockProblem &problem = known.getProblem();
    for (schedule::NodeId node = 0; node < problem.getProblem().numNodes();
         ++node) {
      Operation *op = problem.getOperation(node);
      if (!problem.getProblem().isCollective(node) ||
          op->hasAttr(chunkAttrName))
        continue;
      if (!schedule.split || schedule.split->getSplit().getCopy(op))
        remarkNotSplit(getOperation(), op, known.explainNotSplit(op, schedule));
    }
  }

  SchedulingOptions scheduling;
  std::shared_ptr<CostAnalysis> pricing;
};

} // namespace
