//===- SumBeforeReduceScatter.cpp - Sums before reduce-scatters -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SumBeforeReduceScatter.h"
#include "../PassSupport.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "MergeCollectives.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// Sums of results of reduce-scatters
//===----------------------------------------------------------------------===//

/// Whether `op` is the addition of its first two operands, tensors of one type,
/// and nothing else.
static bool isAddition(Operation *op) {
  ValueRange summands = op->getOperands();
  if (auto add = dyn_cast<linalg::AddOp>(op)) {
    summands = add.getInputs();
  } else if (auto compute = dyn_cast<ComputeOp>(op)) {
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

ScatterSums::ScatterSums(Operation *op) {
  // Summands come before their sum.
  SmallVector<Operation *> additions;
  op->walk<WalkOrder::PreOrder>([&](Block *block) {
    int64_t barriers = 0;
    for (Operation &inner : *block) {
      CommunicationEffect effect = getCommunicationEffect(&inner);
      if (effect == CommunicationEffect::Start)
        numBarriers[&inner] = barriers;
      else if (effect == CommunicationEffect::Unknown ||
               effect == CommunicationEffect::Blocking)
        ++barriers;
      if (isAddition(&inner))
        additions.push_back(&inner);
    }
  });
  for (Operation *add : additions)
    visit(add);
  // Those that a larger one has.
  DenseSet<Operation *> inner;
  for (Operation *add : additions)
    if (const ScatterSum *sum = lookup(add))
      for (const ScatterTerm &term : sum->terms)
        inner.insert(term.sum);
  llvm::copy_if(additions, std::back_inserter(largest), [&](Operation *add) {
    return sums.contains(add) && !inner.contains(add);
  });
}

void ScatterSums::visit(Operation *add) {
  std::optional<ScatterTerm> first = findTerm(add->getOperand(0), add);
  std::optional<ScatterTerm> second = findTerm(add->getOperand(1), add);
  if (!first || !second || add->getOperand(0) == add->getOperand(1) ||
      add->use_empty())
    return;
  std::array<ScatterTerm, 2> terms = {*first, *second};
  if (std::optional<std::string> reason = findObstacle(terms)) {
    obstacles.push_back({add, terms, std::move(*reason)});
    return;
  }
  Operation *places[] = {getPlace(*first), getPlace(*second)};
  bool isInOrder = places[0]->isBeforeInBlock(places[1]);
  sums[add] = {add, terms, places[isInOrder ? 1 : 0]};
}

/// Returns the summand that defines the operand `value` of `add`, if it is one.
std::optional<ScatterTerm> ScatterSums::findTerm(Value value,
                                                 Operation *add) const {
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != add->getBlock())
    return std::nullopt;
  if (sums.contains(op))
    return op->hasOneUse()
               ? std::make_optional(ScatterTerm{nullptr, nullptr, op})
               : std::nullopt;
  auto wait = dyn_cast<WaitOpInterface>(op);
  auto start = wait
                   ? dyn_cast_if_present<CollectiveOpInterface>(wait.getStart())
                   : CollectiveOpInterface();
  if (!start || start.getCollectiveKind() != CollectiveKind::ReduceScatter)
    return std::nullopt;
  return ScatterTerm{start, wait, nullptr};
}

Operation *ScatterSums::getPlace(const ScatterTerm &term) const {
  return term.sum ? sums.at(term.sum).place : term.start;
}

//===----------------------------------------------------------------------===//
// Obstacles
//===----------------------------------------------------------------------===//

static std::string describeReduction(CollectiveOpInterface start) {
  std::optional<ReductionKind> reduction = start.getReductionKind();
  return reduction ? "reduces by " + stringifyReductionKind(*reduction).str()
                   : "does not say how it reduces";
}

/// How the two differ in more than what they send.
static std::optional<std::string> getDifference(CollectiveOpInterface a,
                                                CollectiveOpInterface b) {
  std::string text;
  llvm::raw_string_ostream os(text);
  Type sentA = a.getSentValues().front().getType();
  Type sentB = b.getSentValues().front().getType();
  using Equivalence = OperationEquivalence;
  if (a.getGroupKey() != b.getGroupKey())
    os << "the first is on " << a.getGroupKey() << ", the second on "
       << b.getGroupKey();
  else if (a.getReductionKind() != b.getReductionKind())
    os << "the first " << describeReduction(a) << ", the second "
       << describeReduction(b);
  else if (sentA != sentB)
    os << "the first sends a " << sentA << ", the second a " << sentB;
  else if (!Equivalence::isEquivalentTo(
               a, b, Equivalence::ignoreValueEquivalence,
               /*markEquivalent=*/nullptr,
               Equivalence::IgnoreLocations |
                   Equivalence::IgnoreDiscardableAttrs))
    os << "they differ in more than what they send";
  if (text.empty())
    return std::nullopt;
  return text;
}

/// Returns the reason for which a single reduce-scatter cannot be summed.
static std::optional<std::string> getOwnObstacle(const ScatterTerm &term) {
  auto start = cast<CollectiveOpInterface>(term.start);
  std::string name = describe(start);
  if (start.getSentValues().size() != 1 || term.wait->getNumResults() != 1)
    return name + " reduces several tensors";
  if (!start.getDestinations().empty())
    return name + " is written in place";
  if (!term.wait->hasOneUse())
    return "what " + name + " delivers has another user";
  std::optional<ReductionKind> reduction = start.getReductionKind();
  if (reduction != ReductionKind::Sum && reduction != ReductionKind::Avg)
    return name + " " + describeReduction(start);
  return std::nullopt;
}

std::optional<std::string>
ScatterSums::findObstacle(const std::array<ScatterTerm, 2> &terms) const {
  for (const ScatterTerm &term : terms)
    if (!term.sum)
      if (std::optional<std::string> obstacle = getOwnObstacle(term))
        return obstacle;
  auto first = cast<CollectiveOpInterface>(getPlace(terms[0]));
  auto second = cast<CollectiveOpInterface>(getPlace(terms[1]));
  if (std::optional<std::string> difference = getDifference(first, second))
    return difference;
  if (numBarriers.lookup(first) != numBarriers.lookup(second))
    return "no collective may cross what stands between them";
  bool isInOrder = first->isBeforeInBlock(second);
  Operation *later = isInOrder ? second : first;
  const ScatterTerm &earlier = terms[isInOrder ? 0 : 1];
  // A sum is a new tensor without aliases.
  if (earlier.sum)
    return std::nullopt;
  auto start = cast<CollectiveOpInterface>(earlier.start);
  if (mayBeWrittenBetween(start.getSentValues().front(), start, later))
    return "what " + describe(start) + " sends may be written before " +
           describe(later) + " starts";
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

namespace {

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
  // Costs that are stated are those of adding shards, and so are sizes in the
  // rule; its axes are those of any addition.
  auto compute = cast<ComputeOp>(add);
  StringAttr split = compute.getSplitAttr();
  if (split &&
      !parseSplitRule(split, {a.getType(), b.getType()}, {a.getType()}))
    split = {};
  return ComputeOp::create(rewriter, location, a.getType(),
                           compute.getCalleeAttr(), ValueRange{a, b},
                           /*flops=*/FloatAttr(), /*bytes=*/IntegerAttr(),
                           /*alias=*/IntegerAttr(),
                           /*mutates=*/DenseI64ArrayAttr(),
                           /*random=*/UnitAttr(), split);
}

/// Replaces what `op` has of the attributes of one of `members` by what is
/// known of all of them.
static void setMerged(RewriterBase &rewriter, Operation *op,
                      ArrayRef<Operation *> members) {
  rewriter.modifyOpInPlace(op, [&] {
    op->setLoc(fuseLocations(members));
    op->setDiscardableAttrs(DictionaryAttr::get(op->getContext()));
    setMergedAttributes(op, members);
  });
}

/// A start like `start`, before it, that sends `sent` for all of `members`.
static Operation *createStart(RewriterBase &rewriter,
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

/// Reduces the sum whose last addition is `last` at once.
static void rewriteSum(RewriterBase &rewriter, const ScatterSums &sums,
                       Operation *last) {
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
  // Sums do not depend on each other.
  IRRewriter rewriter(function.getContext());
  for (Operation *last : llvm::reverse(sums.getLargest()))
    rewriteSum(rewriter, sums, last);
  return true;
}
