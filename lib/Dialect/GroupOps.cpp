//===- GroupOps.cpp - Process groups, waits and barriers ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "StartOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// GroupOp
//===----------------------------------------------------------------------===//

/// Ranks that share a node unless a group says otherwise: what an 8-GPU
/// server holds.
static constexpr int64_t defaultRanksPerNode = 8;

ProcessGroup GroupOp::getProcessGroup() {
  int64_t size = getSize();
  int64_t perNode =
      getRanksPerNode().value_or(std::min<int64_t>(size, defaultRanksPerNode));
  return {size, perNode};
}

/// Constraints C5 and C6 on the listed ranks.
static LogicalResult verifyListedRanks(GroupOp op, DenseIntElementsAttr ranks) {
  int64_t size = op.getSize();
  ShapedType type = ranks.getType();
  if (type.getRank() != 2 || type.getDimSize(0) < 1 ||
      type.getDimSize(1) != size)
    return op.emitOpError("'ranks' must have the shape Nx")
           << size << " for a group of size " << size << ", not " << type
           << " (C5)";
  // Not a DenseSet, which keeps two numbers for itself.
  auto listed = llvm::to_vector(ranks.getValues<int64_t>());
  llvm::sort(listed);
  if (listed.front() < 0)
    return op.emitOpError("'ranks' lists the negative rank ")
           << listed.front() << " (C6)";
  if (auto twice = std::adjacent_find(listed.begin(), listed.end());
      twice != listed.end())
    return op.emitOpError("'ranks' lists rank ") << *twice << " twice (C6)";
  return success();
}

LogicalResult GroupOp::verify() {
  Operation *parent = (*this)->getParentOp();
  if (parent && !parent->hasTrait<OpTrait::SymbolTable>())
    return emitOpError("must be declared at module level, not inside '")
           << parent->getName() << "' (C1)";
  int64_t size = getSize();
  if (size < 1)
    return emitOpError("size(") << size << ") must be at least 1 (C2)";
  if (std::optional<int64_t> perNode = getRanksPerNode())
    if (*perNode < 1 || *perNode > size)
      return emitOpError("ranks_per_node(")
             << *perNode << ") must be in [1, " << size << "] (C3)";
  if (std::optional<int64_t> stride = getStride()) {
    if (*stride < 1)
      return emitOpError("stride(") << *stride << ") must be at least 1 (C4)";
    if (getRanks())
      return emitOpError("has both 'stride' and 'ranks' (C4)");
  }
  if (std::optional<DenseIntElementsAttr> ranks = getRanks())
    return verifyListedRanks(*this, *ranks);
  return success();
}

//===----------------------------------------------------------------------===//
// WaitOp
//===----------------------------------------------------------------------===//

Value WaitOp::getAwaitedFuture() { return getFuture(); }

LogicalResult WaitOp::verify() {
  for (Value value : getValues())
    if (failed(detail::verifyHostUses(value, "C4")))
      return failure();
  return success();
}

LogicalResult
WaitOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                         ValueRange operands, DictionaryAttr attributes,
                         OpaqueProperties properties, RegionRange regions,
                         SmallVectorImpl<Type> &inferredReturnTypes) {
  if (operands.size() != 1)
    return failure();
  auto future = dyn_cast<FutureType>(operands.front().getType());
  if (!future)
    return emitOptionalError(location, "waits for a ",
                             operands.front().getType(),
                             ", which is no future");
  llvm::append_range(inferredReturnTypes, future.getTypes());
  return success();
}

void WaitOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  auto start = dyn_cast_if_present<CollectiveOpInterface>(getStart());
  effects.push_back(
      detail::getGroupEffect(start ? start.getGroupKey() : nullptr));
}

//===----------------------------------------------------------------------===//
// BarrierOp
//===----------------------------------------------------------------------===//

CollectiveKind BarrierOp::getCollectiveKind() {
  return CollectiveKind::Barrier;
}

Attribute BarrierOp::getGroupKey() { return getGroupAttr(); }

FailureOr<ProcessGroup>
BarrierOp::getProcessGroup(SymbolTableCollection &symbolTables) {
  return detail::lookupProcessGroup(*this, getGroupAttr(), symbolTables);
}

Value BarrierOp::getInFlightFuture() { return {}; }

OperandRange BarrierOp::getSentValues() { return (*this)->getOperands(); }

OperandRange BarrierOp::getDestinations() { return (*this)->getOperands(); }

SmallVector<Type> BarrierOp::getDeliveredTypes() { return {}; }

void BarrierOp::getEffects(
    SmallVectorImpl<MemoryEffects::EffectInstance> &effects) {
  effects.push_back(detail::getGroupEffect(getGroupAttr()));
}

LogicalResult BarrierOp::verifyGroup(GroupOp) { return success(); }

//===----------------------------------------------------------------------===//
// RankOp
//===----------------------------------------------------------------------===//

std::optional<int64_t> RankOp::getKnownRuntimeNs() { return 0; }

LogicalResult RankOp::verifyGroup(GroupOp) { return success(); }

//===----------------------------------------------------------------------===//
// Canonicalization
//
// Only folds on which all ranks of the group agree are correct: a group of one
// rank, and a start and wait whose results are unused. Sends and receives are
// never erased, since the other end of the pair is in another rank's program.
//===----------------------------------------------------------------------===//

/// The start of `wait` if it is one of this dialect's that all ranks of the
/// group take part in alike, or that no other rank takes part in.
static CollectiveOpInterface getFoldableStart(WaitOp wait) {
  auto start = dyn_cast_if_present<CollectiveOpInterface>(wait.getStart());
  if (!start || !isa<CommSchedDialect>(start->getDialect()))
    return {};
  CollectiveKind kind = start.getCollectiveKind();
  if (kind == CollectiveKind::Send || kind == CollectiveKind::Recv)
    return {};
  return start;
}

/// Whether the group that `symbol` names, seen from `op`, has a single rank.
/// Looks for it from the front of the module, where groups mostly stand: a
/// pattern has nowhere to keep a symbol table.
static bool isGroupOfOne(Operation *op, FlatSymbolRefAttr symbol) {
  auto group = SymbolTable::lookupNearestSymbolFrom<GroupOp>(op, symbol);
  return group && group.getProcessGroup().size == 1;
}

namespace {

/// Erases a start and its wait when the delivered values are unused.
struct EraseUnusedPair : OpRewritePattern<WaitOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(WaitOp wait,
                                PatternRewriter &rewriter) const override {
    CollectiveOpInterface start = getFoldableStart(wait);
    // Values written in place may be read through other values of the same
    // storage.
    if (!start || !start.getDestinations().empty() || !wait->use_empty())
      return failure();
    rewriter.eraseOp(wait);
    rewriter.eraseOp(start);
    return success();
  }
};

/// Replaces a collective over one rank by its operands: gathering, scattering,
/// reducing and exchanging within one rank deliver what was sent.
struct FoldGroupOfOne : OpRewritePattern<WaitOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(WaitOp wait,
                                PatternRewriter &rewriter) const override {
    CollectiveOpInterface start = getFoldableStart(wait);
    if (!start || !start.getDestinations().empty())
      return failure();
    // A transfer has a stream, which is no group.
    auto group = dyn_cast<FlatSymbolRefAttr>(start.getGroupKey());
    if (!group || !isGroupOfOne(start, group))
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

/// Erases a barrier of one rank, which waits for no other rank.
struct EraseBarrierOfOne : OpRewritePattern<BarrierOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(BarrierOp barrier,
                                PatternRewriter &rewriter) const override {
    if (!isGroupOfOne(barrier, barrier.getGroupAttr()))
      return failure();
    rewriter.eraseOp(barrier);
    return success();
  }
};

/// The only rank of a group is the first.
struct FoldRankInGroupOfOne : OpRewritePattern<RankOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(RankOp rank,
                                PatternRewriter &rewriter) const override {
    if (!isGroupOfOne(rank, rank.getGroupAttr()))
      return failure();
    rewriter.replaceOpWithNewOp<arith::ConstantIndexOp>(rank, 0);
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

void RankOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                         MLIRContext *context) {
  patterns.add<FoldRankInGroupOfOne>(context);
}
