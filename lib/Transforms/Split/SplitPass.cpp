//===- SplitPass.cpp - Pass that splits collectives -----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "CommSched/Analysis/Costs/ChunkCosts.h"
#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/OptionErrors.h"
#include "CommSched/Transforms/Passes.h"
#include "SplitRewrite.h"
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
        << (describe(start) + ": split into " + Twine(count) +
            " chunks together with " +
            Twine(region.members.size() - 2 * region.collectives.size()) +
            " operations of computation, " + Twine(region.numLarge) +
            " of them large" + behind)
               .str()
        << remark::metric("Chunks", count);
}

static void remarkNotSplit(func::FuncOp function, Operation *start,
                           const Twine &reason) {
  if (areRemarksEnabled(function))
    remark::missed(start->getLoc(),
                   makeRemark("CollectiveNotSplit", function.getSymName()))
        << (describe(start) + ": not split: " + reason).str();
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

  SmallVector<int32_t> choose();

private:
  /// Why the region cannot be taken; none if it can.
  std::optional<std::string> getObstacle(const SplitRegion &region) const;
  void chooseFor(const SplitRegions::Seed &seed);

  func::FuncOp function;
  const SplitRegions &regions;
  SplitExtent extent;
  int64_t count;
  SmallVector<int32_t> chosen;
  DenseSet<Operation *> taken;
};

} // namespace

std::optional<std::string>
ForcedChoice::getObstacle(const SplitRegion &region) const {
  if (const SplitMember *member = findUndivided(region, count))
    return std::to_string(count) + " chunks do not divide the " +
           std::to_string(getSplitLength(member->axis, member->blocks)) +
           " elements along the axis of " + describe(member->op) + " (" +
           getLocationText(member->op->getLoc()) + ")";
  if (std::optional<SplitStop> stop = getUnjoinableReason(region))
    return getText(*stop);
  for (const SplitMember &member : region.members)
    if (taken.contains(member.op))
      return describe(member.op) + " (" + getLocationText(member.op->getLoc()) +
             ") is split with another collective";
  return std::nullopt;
}

void ForcedChoice::chooseFor(const SplitRegions::Seed &seed) {
  if (taken.contains(seed.start))
    return;
  std::optional<std::string> obstacle;
  for (int32_t number :
       extent == SplitExtent::Nearest ? seed.nearest : seed.widest) {
    const SplitRegion &region = regions.getRegions()[number];
    std::optional<std::string> own = getObstacle(region);
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
    obstacle = getText(seed.stops.front());
  remarkNotSplit(function, seed.start,
                 obstacle ? *obstacle
                          : "no product or attention divides along with it");
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

struct Split : mlir::commsched::impl::SplitBase<Split> {
  using SplitBase::SplitBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (failed(emitOptionError(function, getOptionError())))
      return signalPassFailure();
    costs = getAnalysis<CostAnalysis>().getCosts();
    if (!costs)
      return signalPassFailure();
    FailureOr<bool> changed =
        rewriteBlocks(getBlocksWithCollectives(function),
                      [&](Block &block) { return splitBlock(block); });
    if (failed(changed))
      signalPassFailure();
    else if (!*changed)
      markAllAnalysesPreserved();
  }

private:
  std::optional<std::string> getOptionError() {
    constexpr int64_t most = 64;
    if (chunks < 2 || chunks > most)
      return makeOptionError(*this, chunks,
                             "must be from 2 to " + Twine(most) + ", but is " +
                                 Twine(chunks));
    return std::nullopt;
  }

  FailureOr<bool> splitBlock(Block &block) {
    SplitRegionOptions options;
    options.allowSums = !bitwise;
    SplitRegions regions(block, options);
    SmallVector<int32_t> chosen =
        ForcedChoice(getOperation(), regions, extent, chunks).choose();
    if (chosen.empty())
      return false;
    ChunkNames names(block);
    for (int32_t number : chosen) {
      const SplitRegion &region = regions.getRegions()[number];
      remarkSplit(getOperation(), region, chunks,
                  getSplitStops(region, options, 1));
    }
    for (int32_t number : chosen)
      splitRegion(regions.getRegions()[number], chunks, names,
                  [&](Operation *op, const SplitAxis &axis, int64_t count) {
                    return estimateChunkNs(*costs, op, axis, count);
                  });
    if (failed(orderChunks(block)))
      return failure();
    return true;
  }

  OperationCosts *costs = nullptr;
};

} // namespace
