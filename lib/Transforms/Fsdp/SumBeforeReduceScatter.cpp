//===- SumBeforeReduceScatter.cpp - One reduction of a sum ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SumBeforeReduceScatter.h"
#include "../Bucketing/MergedAttributes.h"
#include "../Bucketing/WritesBetween.h"
#include "../Remarks.h"
#include "CommSched/Analysis/CommunicationEffects.h"
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
using ::commsched::CollectiveKind;

CommunicationEpochs::CommunicationEpochs(Operation *op) {
  op->walk([&](Block *block) {
    int64_t epoch = 0;
    for (Operation &inner : *block) {
      CommunicationEffect effect = getCommunicationEffect(&inner);
      if (effect == CommunicationEffect::Start)
        epochs[&inner] = epoch;
      else if (effect == CommunicationEffect::Unknown ||
               effect == CommunicationEffect::Blocking)
        ++epoch;
    }
  });
}

namespace {

/// A reduce-scatter and its wait.
struct Scatter {
  CollectiveOpInterface start;
  Operation *wait = nullptr;

  Value getSent() { return start.getSentValues().front(); }
};

/// An addition of what two reduce-scatters deliver.
struct ScatterSum {
  /// By the place of their starts.
  Scatter earlier;
  Scatter later;
};

} // namespace

//===----------------------------------------------------------------------===//
// Additions
//===----------------------------------------------------------------------===//

/// Whether `op` is the addition of two tensors of one type, and nothing else.
static bool isAddition(Operation *op) {
  ValueRange summands = op->getOperands();
  if (auto add = dyn_cast<linalg::AddOp>(op))
    summands = add.getInputs();
  else if (auto compute = dyn_cast<ComputeOp>(op)) {
    StringRef callee = compute.getCallee();
    if ((callee != "aten.add" && !callee.starts_with("aten.add.")) ||
        compute.getAlias() || compute.getMutates() || compute.getRandom())
      return false;
  } else if (!isa<arith::AddFOp, arith::AddIOp>(op)) {
    return false;
  }
  if (summands.size() != 2 || op->getNumResults() != 1)
    return false;
  Type type = op->getResult(0).getType();
  return isa<RankedTensorType>(type) && summands[0].getType() == type &&
         summands[1].getType() == type;
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

//===----------------------------------------------------------------------===//
// Sums of reduce-scatters
//===----------------------------------------------------------------------===//

/// The reduce-scatter that delivers `value`, in the block of `user`.
static std::optional<Scatter> getScatter(Value value, Operation *user) {
  auto wait = value.getDefiningOp<WaitOpInterface>();
  auto start = wait
                   ? dyn_cast_if_present<CollectiveOpInterface>(wait.getStart())
                   : CollectiveOpInterface();
  if (!start || start.getCollectiveKind() != CollectiveKind::ReduceScatter ||
      start->getBlock() != user->getBlock())
    return std::nullopt;
  return Scatter{start, wait};
}

/// The two reduce-scatters that `op` adds; none if that is not what it does.
static std::optional<ScatterSum> getSum(Operation *op) {
  if (!isAddition(op))
    return std::nullopt;
  std::optional<Scatter> first = getScatter(op->getOperand(0), op);
  std::optional<Scatter> second = getScatter(op->getOperand(1), op);
  if (!first || !second || first->start == second->start)
    return std::nullopt;
  if (second->start->isBeforeInBlock(first->start))
    std::swap(first, second);
  return ScatterSum{*first, *second};
}

static std::string describeReduction(CollectiveOpInterface start) {
  std::optional<ReductionKind> reduction = start.getReductionKind();
  return reduction ? "reduces by " + stringifyReductionKind(*reduction).str()
                   : "does not say how it reduces";
}

/// Why the two differ in more than what they send, as the end of a sentence.
static std::optional<std::string> getDifference(CollectiveOpInterface a,
                                                CollectiveOpInterface b) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (a.getGroupKey() != b.getGroupKey()) {
    os << "the first is on " << a.getGroupKey() << ", the second on "
       << b.getGroupKey();
    return text;
  }
  if (a.getReductionKind() != b.getReductionKind()) {
    os << "the first " << describeReduction(a) << ", the second "
       << describeReduction(b);
    return text;
  }
  for (auto [from, to] : llvm::zip(a.getSentValues(), b.getSentValues()))
    if (from.getType() != to.getType()) {
      os << "the first sends a " << from.getType() << ", the second a "
         << to.getType();
      return text;
    }
  using Equivalence = OperationEquivalence;
  if (!Equivalence::isEquivalentTo(
          a, b, Equivalence::ignoreValueEquivalence, /*markEquivalent=*/nullptr,
          Equivalence::IgnoreLocations | Equivalence::IgnoreDiscardableAttrs))
    return "they differ in more than what they send";
  return std::nullopt;
}

/// Why the sum is not reduced at once, as the end of a sentence.
static std::optional<std::string>
getObstacle(ScatterSum &sum, const CommunicationEpochs &epochs) {
  for (Scatter *scatter : {&sum.earlier, &sum.later}) {
    std::string name = describe(scatter->start);
    if (scatter->start.getSentValues().size() != 1 ||
        scatter->wait->getNumResults() != 1)
      return name + " reduces several tensors";
    if (!scatter->start.getDestinations().empty())
      return name + " is written in place";
    if (!scatter->wait->hasOneUse())
      return "what " + name + " delivers has another user";
  }
  CollectiveOpInterface earlier = sum.earlier.start, later = sum.later.start;
  if (std::optional<std::string> difference = getDifference(earlier, later))
    return difference;
  std::optional<ReductionKind> reduction = earlier.getReductionKind();
  if (reduction != ReductionKind::Sum && reduction != ReductionKind::Avg)
    return describe(earlier) + " " + describeReduction(earlier);
  if (epochs.getEpoch(earlier) != epochs.getEpoch(later))
    return "no collective may cross what stands between them";
  if (mayBeWrittenBetween(sum.earlier.getSent(), earlier, later))
    return "what " + describe(earlier) +
           " sends may be written before the second starts";
  return std::nullopt;
}

namespace {

struct SumBeforeReduceScatter : RewritePattern {
  SumBeforeReduceScatter(MLIRContext *context, CommunicationEpochs &epochs)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context),
        epochs(epochs) {}

  LogicalResult matchAndRewrite(Operation *add,
                                PatternRewriter &rewriter) const override;

private:
  Operation *replaceStart(PatternRewriter &rewriter, ScatterSum &sum,
                          Value sent) const;

  CommunicationEpochs &epochs;
};

} // namespace

static StringRef getFunctionName(Operation *op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  return function ? function.getName() : StringRef();
}

/// A start like the later one, in its place, that sends `sent`.
Operation *SumBeforeReduceScatter::replaceStart(PatternRewriter &rewriter,
                                                ScatterSum &sum,
                                                Value sent) const {
  CollectiveOpInterface later = sum.later.start;
  Attribute order = later->getDiscardableAttr(orderAttrName);
  IRMapping mapping;
  mapping.map(sum.later.getSent(), sent);
  Operation *start = rewriter.clone(*later, mapping);
  SmallVector<Operation *> replaced = {sum.earlier.start, later};
  rewriter.modifyOpInPlace(start, [&] {
    start->setLoc(fuseLocations(replaced));
    start->setDiscardableAttrs(DictionaryAttr::get(start->getContext()));
    setMergedAttributes(start, replaced);
    if (order)
      start->setDiscardableAttr(orderAttrName, order);
  });
  epochs.replace(later, start);
  return start;
}

LogicalResult
SumBeforeReduceScatter::matchAndRewrite(Operation *add,
                                        PatternRewriter &rewriter) const {
  std::optional<ScatterSum> sum = getSum(add);
  if (!sum || getObstacle(*sum, epochs))
    return failure();
  // In the order of the addition.
  Value first = getScatter(add->getOperand(0), add)->getSent();
  Value second = getScatter(add->getOperand(1), add)->getSent();
  Value init = isa<linalg::AddOp>(add) ? add->getOperand(2) : Value();

  rewriter.setInsertionPoint(sum->later.start);
  Operation *whole = createAddition(rewriter, add, first, second);
  setMergedAttributes(whole, add);
  Operation *start = replaceStart(rewriter, *sum, whole->getResult(0));

  rewriter.setInsertionPoint(add);
  SmallVector<Operation *> waits = {sum->earlier.wait, sum->later.wait};
  IRMapping mapping;
  mapping.map(sum->later.start.getInFlightFuture(),
              cast<CollectiveOpInterface>(start).getInFlightFuture());
  Operation *wait = rewriter.clone(*sum->later.wait, mapping);
  rewriter.modifyOpInPlace(wait, [&] {
    wait->setLoc(fuseLocations(waits));
    wait->setDiscardableAttrs(DictionaryAttr::get(wait->getContext()));
    setMergedAttributes(wait, waits);
  });

  if (areRemarksEnabled(add))
    remark::passed(add->getLoc(), makeRemark("SummedBeforeReduceScatter",
                                             getFunctionName(add)))
        << describe(sum->earlier.start) + " and " + describe(sum->later.start) +
               " become one of the sum of both";
  rewriter.replaceOp(add, wait->getResults());
  for (Scatter *scatter : {&sum->earlier, &sum->later}) {
    rewriter.eraseOp(scatter->wait);
    rewriter.eraseOp(scatter->start);
  }
  if (Operation *empty = init ? init.getDefiningOp() : nullptr)
    if (isOpTriviallyDead(empty))
      rewriter.eraseOp(empty);
  return success();
}

void mlir::commsched::populateSumBeforeReduceScatterPatterns(
    RewritePatternSet &patterns, CommunicationEpochs &epochs) {
  patterns.add<SumBeforeReduceScatter>(patterns.getContext(), epochs);
}

//===----------------------------------------------------------------------===//
// A whole function
//===----------------------------------------------------------------------===//

static SmallVector<Operation *>
findOperations(func::FuncOp function,
               function_ref<bool(Operation *)> isWanted) {
  SmallVector<Operation *> found;
  function.walk([&](Operation *op) {
    if (isWanted(op))
      found.push_back(op);
  });
  return found;
}

static bool isSum(Operation *op) { return getSum(op).has_value(); }

/// Says why the sums that are left are not reduced at once.
static void remarkSums(func::FuncOp function,
                       const CommunicationEpochs &epochs) {
  for (Operation *add : findOperations(function, isSum)) {
    ScatterSum sum = *getSum(add);
    remark::missed(add->getLoc(), makeRemark("SummedAfterReduceScatter",
                                             function.getSymName()))
        << describe(sum.earlier.start) + " and " + describe(sum.later.start) +
               " are summed up afterwards: " + *getObstacle(sum, epochs);
  }
}

bool mlir::commsched::sumBeforeReduceScatter(func::FuncOp function) {
  if (findOperations(function, isSum).empty())
    return false;
  CommunicationEpochs epochs(function);
  RewritePatternSet patterns(function.getContext());
  populateSumBeforeReduceScatterPatterns(patterns, epochs);
  // The sum of a sum is one of reduce-scatters once the inner one is reduced at
  // once. The driver would erase what is not used.
  SmallVector<Operation *> additions =
      findOperations(function, [](Operation *op) {
        return isAddition(op) && !op->use_empty();
      });
  GreedyRewriteConfig config;
  config.setStrictness(GreedyRewriteStrictness::ExistingOps)
      .enableFolding(false)
      .enableConstantCSE(false);
  bool changed = false;
  (void)applyOpPatternsGreedily(additions, std::move(patterns), config,
                                &changed);
  if (areRemarksEnabled(function))
    remarkSums(function, epochs);
  return changed;
}
