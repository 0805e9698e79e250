//===- FsdpAnalysis.cpp - Collectives of sharded parameters ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Fsdp/FsdpAnalysis.h"
#include "ParameterOrigins.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::commsched;
using ObstacleKind = FsdpObstacle::Kind;

//===----------------------------------------------------------------------===//
// Uses of gradients
//===----------------------------------------------------------------------===//

namespace {

/// The final use of a value.
struct End {
  enum class Kind {
    /// It is not used, nor is any value computed from it.
    Unused,
    /// In the function's results, and nowhere else.
    Returned,
    /// In `user`, among others.
    Used,
  };
  Kind kind = Kind::Unused;
  /// Of several the first of the block.
  Operation *user = nullptr;
};

/// The ends of the values of one block. An all-reduce is on the way of each of
/// its operands to what it delivers for it.
class GradientEnds {
public:
  /// Visits every operation and use once. `origins` are those of the block and
  /// must outlive this.
  GradientEnds(Block &block, const ParameterOrigins &origins);

  End getEnd(Value value) const;

  /// The all-reduces of which all operands are on the way from one of
  /// `gradients`, values that end up in the function's results. Linear in the
  /// operations on the way.
  DenseSet<Operation *> findReductions(ArrayRef<Value> gradients) const;

private:
  End visit(Operation *op) const;
  End getEnd(OpOperand &use) const;

  Block &block;
  const ParameterOrigins &origins;
  /// Of all results of an operation together.
  DenseMap<Operation *, End> ends;
};

} // namespace

/// The values that a collective delivers: the results of its wait, or its own
/// results if it is blocking; none if something else than a wait takes its
/// future.
static ResultRange getDeliveredValues(CollectiveOpInterface collective) {
  if (!collective.getInFlightFuture())
    return collective->getResults();
  Operation *wait = collective.getWait();
  return wait ? wait->getResults() : collective->getResults().take_front(0);
}

/// The value that the all-reduce that has this operand makes of it; null for
/// operands of other operations. A destination is what becomes of the operand
/// of the same place if it is that operand.
static Value getReduced(OpOperand &use) {
  auto collective = dyn_cast<CollectiveOpInterface>(use.getOwner());
  if (!collective ||
      collective.getCollectiveKind() != CollectiveKind::AllReduce)
    return {};
  OperandRange sent = collective.getSentValues();
  ResultRange delivered = getDeliveredValues(collective);
  if (sent.size() != delivered.size())
    return {};
  unsigned number = use.getOperandNumber();
  auto getPlace = [&](OperandRange range) -> size_t {
    return number - (range.empty() ? 0 : range.getBeginOperandIndex());
  };
  if (size_t place = getPlace(sent); place < sent.size())
    return delivered[place];
  OperandRange destinations = collective.getDestinations();
  size_t place = getPlace(destinations);
  bool isInPlace = place < destinations.size() && place < sent.size() &&
                   sent[place] == use.get();
  return isInPlace ? delivered[place] : Value();
}

static bool isReturn(Operation *op) {
  return op->hasTrait<OpTrait::ReturnLike>() &&
         isa_and_present<FunctionOpInterface>(op->getParentOp());
}

/// The end of what goes to both.
static End join(End lhs, End rhs) {
  if (lhs.kind != rhs.kind)
    return lhs.kind < rhs.kind ? rhs : lhs;
  bool isOrdered =
      lhs.user && rhs.user && lhs.user->getBlock() == rhs.user->getBlock();
  return isOrdered && rhs.user->isBeforeInBlock(lhs.user) ? rhs : lhs;
}

GradientEnds::GradientEnds(Block &block, const ParameterOrigins &origins)
    : block(block), origins(origins) {
  for (Operation &op : llvm::reverse(block))
    ends[&op] = visit(&op);
}

/// The end of what becomes of an operand of `op`.
End GradientEnds::visit(Operation *op) const {
  if (isReturn(op))
    return {End::Kind::Returned, nullptr};
  End used{End::Kind::Used, op};
  if (op->getNumResults() == 0 || !isLocalComputation(op))
    return used;
  // A value times itself is of one operand.
  SmallPtrSet<Value, 4> variables;
  for (Value input : getTensorInputs(op))
    if (!origins.isConstant(input))
      variables.insert(input);
  if (variables.size() != 1)
    return used;
  if (auto cost = dyn_cast<CostOpInterface>(op); cost && cost.isExpensive())
    return used;
  End end;
  for (Value result : op->getResults())
    end = join(end, getEnd(result));
  return end;
}

End GradientEnds::getEnd(Value value) const {
  End end;
  for (OpOperand &use : value.getUses())
    end = join(end, getEnd(use));
  return end;
}

End GradientEnds::getEnd(OpOperand &use) const {
  Operation *user = use.getOwner();
  if (Value reduced = getReduced(use); reduced && user->getBlock() == &block)
    return getEnd(reduced);
  // A use in a region counts as a use by the operation that holds the region.
  if (Operation *ancestor = block.findAncestorOpInBlock(*user))
    user = ancestor;
  auto it = ends.find(user);
  return it == ends.end() ? End{End::Kind::Used, user} : it->second;
}

DenseSet<Operation *>
GradientEnds::findReductions(ArrayRef<Value> gradients) const {
  // By all-reduce: what it delivers for gradients.
  DenseMap<Operation *, DenseSet<Value>> reached;
  DenseSet<Operation *> reductions, steps;
  SmallVector<Value> worklist(gradients);
  while (!worklist.empty()) {
    for (OpOperand &use : worklist.pop_back_val().getUses()) {
      Operation *user = use.getOwner();
      Value reduced = getReduced(use);
      if (!reduced) {
        Operation *step = block.findAncestorOpInBlock(*user);
        if (steps.insert(step).second)
          llvm::append_range(worklist, step->getResults());
        continue;
      }
      DenseSet<Value> &values = reached[user];
      if (!values.insert(reduced).second)
        continue;
      worklist.push_back(reduced);
      auto collective = cast<CollectiveOpInterface>(user);
      if (values.size() == collective.getSentValues().size())
        reductions.insert(user);
    }
  }
  return reductions;
}

//===----------------------------------------------------------------------===//
// FsdpAnalysis
//===----------------------------------------------------------------------===//

/// Why `gather` is no gather of parameters, or none.
static std::optional<FsdpObstacle>
findObstacle(CollectiveOpInterface gather, const ParameterOrigins &origins) {
  FsdpObstacle nothing{ObstacleKind::NoParameter, {}, {}, nullptr};
  if (gather.getSentValues().empty())
    return nothing;
  for (Value sent : gather.getSentValues()) {
    Origin origin = origins.getOrigin(sent);
    if (origin.kind == Origin::Kind::Other)
      return origin.obstacle;
    if (origin.kind == Origin::Kind::Constant)
      return nothing;
  }
  return std::nullopt;
}

/// Why `scatter` is no reduction of gradients, or none.
static std::optional<FsdpObstacle> findObstacle(CollectiveOpInterface scatter,
                                                const GradientEnds &ends) {
  FsdpObstacle unused{ObstacleKind::Unused, {}, {}, nullptr};
  if (getDeliveredValues(scatter).empty())
    return unused;
  for (Value delivered : getDeliveredValues(scatter)) {
    // What is computed from it and goes nowhere does no harm.
    if (delivered.use_empty())
      return unused;
    End end = ends.getEnd(delivered);
    if (end.kind == End::Kind::Used)
      return FsdpObstacle{ObstacleKind::OtherUser, {}, {}, end.user};
  }
  return std::nullopt;
}

FsdpAnalysis::FsdpAnalysis(Block &block) {
  ParameterOrigins origins(block);
  GradientEnds ends(block, origins);
  SmallVector<Value> gradients;
  for (auto collective : block.getOps<CollectiveOpInterface>()) {
    CollectiveKind kind = collective.getCollectiveKind();
    std::optional<FsdpObstacle> obstacle = FsdpObstacle();
    if (kind == CollectiveKind::AllGather)
      obstacle = findObstacle(collective, origins);
    else if (kind == CollectiveKind::ReduceScatter)
      obstacle = findObstacle(collective, ends);
    if (obstacle) {
      obstacles[collective] = *obstacle;
    } else if (kind == CollectiveKind::AllGather) {
      roles[collective] = FsdpRole::ParameterGather;
      groups.insert(collective.getGroupKey());
      for (Value sent : collective.getSentValues())
        origins.appendParameters(sent, parameters[collective]);
    } else {
      roles[collective] = FsdpRole::GradientScatter;
      llvm::append_range(gradients, getDeliveredValues(collective));
    }
  }
  for (Operation *reduction : ends.findReductions(gradients))
    roles[reduction] = FsdpRole::GradientReduce;
}

ArrayRef<Value> FsdpAnalysis::getParameters(Operation *collective) const {
  auto it = parameters.find(collective);
  return it == parameters.end() ? ArrayRef<Value>() : it->second;
}

Value FsdpAnalysis::getParameter(Operation *collective) const {
  ArrayRef<Value> gathered = getParameters(collective);
  return gathered.size() == 1 ? gathered.front() : Value();
}
