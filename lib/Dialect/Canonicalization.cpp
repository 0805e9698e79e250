//===- Canonicalization.cpp - Folds that are the same on every rank -------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Only what every rank of the group decides alike may be folded: a group of
// one, and a pair whose result nobody uses. Sends and receives are never
// dropped, since the other end of the pair is in another rank's program.
//
//===----------------------------------------------------------------------===//

#include "StartOps.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::commsched;

/// The start of `wait` if it is one of this dialect's that all ranks of the
/// group take part in alike.
static CollectiveOpInterface getFoldableStart(WaitOp wait) {
  auto start = dyn_cast_if_present<CollectiveOpInterface>(wait.getStart());
  if (!start || !isa<CommSchedDialect>(start->getDialect()))
    return {};
  CollectiveKind kind = start.getCollectiveKind();
  if (kind == CollectiveKind::Send || kind == CollectiveKind::Recv)
    return {};
  return start;
}

/// Whether the group of `collective`, one of this dialect's, has a single rank.
/// Looks for it from the front of the module, where groups mostly stand: a
/// pattern has nowhere to keep a symbol table.
static bool isGroupOfOne(CollectiveOpInterface collective) {
  auto group = SymbolTable::lookupNearestSymbolFrom<GroupOp>(
      collective, cast<FlatSymbolRefAttr>(collective.getGroupKey()));
  return group && group.getProcessGroup().size == 1;
}

namespace {

/// Erases a start and its wait when nobody uses what they deliver.
struct EraseUnusedPair : OpRewritePattern<WaitOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(WaitOp wait,
                                PatternRewriter &rewriter) const override {
    CollectiveOpInterface start = getFoldableStart(wait);
    // What is written in place may be seen through other values of the same
    // storage.
    if (!start || !start.getDestinations().empty() || !wait->use_empty())
      return failure();
    rewriter.eraseOp(wait);
    rewriter.eraseOp(start);
    return success();
  }
};

/// Replaces a collective over one rank by its operands: gathering, scattering,
/// reducing and exchanging with nobody deliver what was sent.
struct FoldGroupOfOne : OpRewritePattern<WaitOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(WaitOp wait,
                                PatternRewriter &rewriter) const override {
    CollectiveOpInterface start = getFoldableStart(wait);
    if (!start || !start.getDestinations().empty())
      return failure();
    if (!isGroupOfOne(start))
      return failure();
    // A permute without a pair delivers zeros.
    if (auto permute = dyn_cast<PermuteOp>(start.getOperation()))
      if (permute.getPairs().empty())
        return failure();
    SmallVector<Value> sent = llvm::to_vector(start.getSentValues());
    // Dynamic dimensions may be spelled differently on both sides.
    if (TypeRange(ValueRange(sent)) != TypeRange(wait->getResultTypes()))
      return failure();
    rewriter.replaceOp(wait, sent);
    rewriter.eraseOp(start);
    return success();
  }
};

/// A barrier of one rank waits for nobody.
struct EraseBarrierOfOne : OpRewritePattern<BarrierOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BarrierOp barrier,
                                PatternRewriter &rewriter) const override {
    if (!isGroupOfOne(barrier))
      return failure();
    rewriter.eraseOp(barrier);
    return success();
  }
};

} // namespace

void WaitOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                         MLIRContext *context) {
  patterns.add<EraseUnusedPair, FoldGroupOfOne>(context);
}

void BarrierOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                            MLIRContext *context) {
  patterns.add<EraseBarrierOfOne>(context);
}
