//===- ScatterSums.cpp - Sums of what is reduced and scattered ------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScatterSums.h"
#include "../Bucketing/MergeCollectives.h"
#include "../Remarks.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

using namespace mlir;
using namespace mlir::commsched;
using cost::CollectiveKind;

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

/// What `add` has as an operand, if that is a summand.
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

/// What is wrong with a single reduce-scatter.
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
  // A sum is a new tensor, which nobody else knows.
  if (earlier.sum)
    return std::nullopt;
  auto start = cast<CollectiveOpInterface>(earlier.start);
  if (mayBeWrittenBetween(start.getSentValues().front(), start, later))
    return "what " + describe(start) + " sends may be written before " +
           describe(later) + " starts";
  return std::nullopt;
}
