//===- SumBeforeReduceScatter.cpp - One reduction of a sum ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SumBeforeReduceScatter.h"
#include "../Bucketing/MergeKinds.h"
#include "../Remarks.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace mlir::commsched;

namespace {

struct SumBeforeReduceScatter : RewritePattern {
  SumBeforeReduceScatter(MLIRContext *context, const ScatterSums &sums)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context), sums(sums),
        largest(sums.getLargest().begin(), sums.getLargest().end()) {}

  LogicalResult matchAndRewrite(Operation *last,
                                PatternRewriter &rewriter) const override;

private:
  const ScatterSums &sums;
  DenseSet<Operation *> largest;
};

/// Everything that a sum consists of.
struct Parts {
  /// Those that are summands of others come later.
  SmallVector<const ScatterSum *> sums;
  /// In the order of the block.
  SmallVector<Operation *> starts;
  /// By start.
  SmallVector<Operation *> waits;
};

} // namespace

static Parts collectParts(const ScatterSums &sums, Operation *last) {
  Parts parts;
  SmallVector<ScatterTerm> scatters;
  parts.sums.push_back(sums.lookup(last));
  for (size_t index = 0; index < parts.sums.size(); ++index)
    for (const ScatterTerm &term : parts.sums[index]->terms) {
      if (term.sum)
        parts.sums.push_back(sums.lookup(term.sum));
      else
        scatters.push_back(term);
    }
  llvm::sort(scatters, [](const ScatterTerm &a, const ScatterTerm &b) {
    return a.start->isBeforeInBlock(b.start);
  });
  for (const ScatterTerm &term : scatters) {
    parts.starts.push_back(term.start);
    parts.waits.push_back(term.wait);
  }
  return parts;
}

/// Adds `a` and `b` as `add` does its operands, before the insertion point.
static Operation *createAddition(RewriterBase &rewriter, Operation *add,
                                 Value a, Value b) {
  Location location = add->getLoc();
  if (isa<linalg::AddOp>(add)) {
    auto type = cast<RankedTensorType>(a.getType());
    Value empty = tensor::EmptyOp::create(
        rewriter, location, tensor::getMixedSizes(rewriter, location, a),
        type.getElementType(), type.getEncoding());
    return linalg::AddOp::create(rewriter, location, ValueRange{a, b},
                                 ValueRange{empty});
  }
  // That shards do not overflow says nothing about what they are reduced from.
  if (isa<arith::AddIOp>(add))
    return arith::AddIOp::create(rewriter, location, a, b);
  if (auto addf = dyn_cast<arith::AddFOp>(add))
    return arith::AddFOp::create(rewriter, location, a, b,
                                 addf.getFastmathAttr());
  // Costs that are stated are those of adding shards.
  return ComputeOp::create(rewriter, location, a.getType(),
                           cast<ComputeOp>(add).getCalleeAttr(),
                           ValueRange{a, b}, /*flops=*/FloatAttr(),
                           /*bytes=*/IntegerAttr(), /*alias=*/IntegerAttr(),
                           /*mutates=*/DenseI64ArrayAttr(),
                           /*random=*/UnitAttr());
}

/// Replaces what `op` has of the attributes of one of `members` by what is
/// known of all of them.
static void setMerged(PatternRewriter &rewriter, Operation *op,
                      ArrayRef<Operation *> members) {
  rewriter.modifyOpInPlace(op, [&] {
    op->setLoc(fuseLocations(members));
    op->setDiscardableAttrs(DictionaryAttr::get(op->getContext()));
    setMergedAttributes(op, members);
  });
}

/// A start like `start`, before it, that sends `sent` for all of `members`.
static Operation *createStart(PatternRewriter &rewriter,
                              CollectiveOpInterface start, Value sent,
                              ArrayRef<Operation *> members) {
  rewriter.setInsertionPoint(start);
  IRMapping mapping;
  mapping.map(start.getSentValues().front(), sent);
  Operation *created = rewriter.clone(*start, mapping);
  setMerged(rewriter, created, members);
  if (Attribute order = start->getDiscardableAttr(orderAttrName))
    created->setDiscardableAttr(orderAttrName, order);
  return created;
}

static void remarkSummed(Operation *last, ArrayRef<Operation *> starts) {
  if (!areRemarksEnabled(last))
    return;
  auto function = last->getParentOfType<FunctionOpInterface>();
  std::string names = llvm::join(
      llvm::map_range(starts, [](Operation *op) { return describe(op); }),
      ", ");
  remark::passed(last->getLoc(),
                 makeRemark("SummedBeforeReduceScatter",
                            function ? function.getName() : StringRef()))
      << "one reduce-scatter of the sum replaces " + names
      << remark::metric("ReduceScatters", starts.size());
}

LogicalResult
SumBeforeReduceScatter::matchAndRewrite(Operation *last,
                                        PatternRewriter &rewriter) const {
  if (!largest.contains(last))
    return failure();
  Parts parts = collectParts(sums, last);
  // By addition of shards: that of whole tensors.
  DenseMap<Operation *, Value> wholes;
  auto getWhole = [&](const ScatterTerm &term) {
    return term.sum ? wholes.at(term.sum)
                    : cast<CollectiveOpInterface>(term.start)
                          .getSentValues()
                          .front();
  };
  for (const ScatterSum *sum : llvm::reverse(parts.sums)) {
    rewriter.setInsertionPoint(sum->place);
    Operation *whole = createAddition(
        rewriter, sum->add, getWhole(sum->terms[0]), getWhole(sum->terms[1]));
    setMergedAttributes(whole, sum->add);
    wholes[sum->add] = whole->getResult(0);
  }

  auto place = cast<CollectiveOpInterface>(parts.sums.front()->place);
  auto start = cast<CollectiveOpInterface>(
      createStart(rewriter, place, wholes.at(last), parts.starts));
  Operation *oldWait = place.getWait();
  IRMapping mapping;
  mapping.map(place.getInFlightFuture(), start.getInFlightFuture());
  rewriter.setInsertionPoint(last);
  Operation *wait = rewriter.clone(*oldWait, mapping);
  setMerged(rewriter, wait, parts.waits);

  remarkSummed(last, parts.starts);
  rewriter.replaceAllUsesWith(last->getResults(), wait->getResults());
  for (const ScatterSum *sum : parts.sums) {
    Value destination =
        isa<linalg::AddOp>(sum->add) ? sum->add->getOperand(2) : Value();
    rewriter.eraseOp(sum->add);
    if (Operation *empty = destination ? destination.getDefiningOp() : nullptr)
      if (isOpTriviallyDead(empty))
        rewriter.eraseOp(empty);
  }
  for (Operation *op : llvm::concat<Operation *>(parts.waits, parts.starts))
    rewriter.eraseOp(op);
  return success();
}

void mlir::commsched::populateSumBeforeReduceScatterPatterns(
    RewritePatternSet &patterns, const ScatterSums &sums) {
  patterns.add<SumBeforeReduceScatter>(patterns.getContext(), sums);
}

//===----------------------------------------------------------------------===//
// A whole function
//===----------------------------------------------------------------------===//

/// Says why sums are not reduced at once.
static void remarkObstacles(func::FuncOp function, const ScatterSums &sums) {
  auto name = [](const ScatterTerm &term) {
    return describe(term.sum ? term.sum : term.start);
  };
  for (const ScatterSumObstacle &obstacle : sums.getObstacles())
    remark::missed(
        obstacle.add->getLoc(),
        makeRemark("SummedAfterReduceScatter", function.getSymName()))
        << name(obstacle.terms[0]) + " and " + name(obstacle.terms[1]) +
               " are summed up afterwards: " + obstacle.reason;
}

bool mlir::commsched::sumBeforeReduceScatter(func::FuncOp function) {
  ScatterSums sums(function);
  if (areRemarksEnabled(function))
    remarkObstacles(function, sums);
  if (sums.getLargest().empty())
    return false;
  RewritePatternSet patterns(function.getContext());
  populateSumBeforeReduceScatterPatterns(patterns, sums);
  // Nothing but the rewrite itself: sums do not depend on each other.
  GreedyRewriteConfig config;
  config.setStrictness(GreedyRewriteStrictness::ExistingOps)
      .enableFolding(false)
      .enableConstantCSE(false);
  (void)applyOpPatternsGreedily(sums.getLargest(), std::move(patterns), config);
  return true;
}
