//===- PlanRegions.cpp - Which operations become one function -------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Remarks.h"
#include "CommSched/Analysis/Aliasing.h"
#include "CommSched/Schedule/ConvexSets.h"
#include "CommSched/Schedule/GroupedOrder.h"
#include "MarkedRegions.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mlir::commsched;
using ::commsched::ConvexSet;
using ::commsched::DependenceEnd;
using ::commsched::DependenceKind;
using ::commsched::GroupConflict;
using ::commsched::GroupedOrder;
using ::commsched::NodeId;
using ::commsched::NodeKind;
using ::commsched::noLabel;
using ::commsched::OrderWishes;
using ::commsched::Problem;
using ::commsched::Result;

/// All marks count as one label for each region, numbered by the block.
static std::vector<int32_t> makeLabels(const BlockProblem &problem,
                                       ArrayRef<MarkedOperation> marked,
                                       SmallVectorImpl<int32_t> &regions) {
  DenseMap<int32_t, int32_t> labelOf;
  DenseMap<Operation *, int32_t> marks;
  for (const MarkedOperation &mark : marked) {
    auto [it, isNew] =
        labelOf.try_emplace(mark.region, static_cast<int32_t>(regions.size()));
    if (isNew)
      regions.push_back(mark.region);
    marks[mark.op] = it->second;
  }
  std::vector<int32_t> labels;
  for (NodeId node = 0; node < problem.getProblem().numNodes(); ++node)
    labels.push_back(marks.lookup_or(problem.getOperation(node), noLabel));
  return labels;
}

static void remarkSplitPair(Operation *op, bool isStart) {
  auto function = op->getParentOfType<func::FuncOp>();
  remark::missed(op->getLoc(),
                 makeRemark("MarkedOperationLeft", function.getSymName()))
      << describe(op) + " is not outlined: its " +
             (isStart ? "wait" : "start") +
             " cannot be in the same function, and futures cross no call";
}

//===----------------------------------------------------------------------===//
// The border of a set
//===----------------------------------------------------------------------===//

namespace {

/// Tells which members of one set only pass on what the function takes.
class Border {
public:
  Border(const BlockProblem &problem, const std::vector<int32_t> &setOf,
         const ConvexSet &set, int32_t index)
      : problem(problem), setOf(setOf), set(set), index(index) {}

  /// Divides the members.
  void divide(RegionSet &result, SmallVectorImpl<Operation *> &passedOn,
              std::vector<NodeId> &nodes);

private:
  enum class Place { Inside, Border, PassedOn };

  bool isTakenFromOutside(Operation *op) const;
  bool isTiedByMemory(NodeId node) const;
  Place placeOf(Operation *user) const {
    return places.lookup_or(user, Place::PassedOn);
  }

  const BlockProblem &problem;
  const std::vector<int32_t> &setOf;
  const ConvexSet &set;
  int32_t index;
  /// Of the members.
  DenseMap<Operation *, Place> places;
};

} // namespace

/// Whether memory or communication, not only values, joins the operation to a
/// member.
bool Border::isTiedByMemory(NodeId node) const {
  auto ties = [&](DependenceEnd end) {
    return end.kind != DependenceKind::Data && setOf[end.node] == index;
  };
  const Problem &dependences = problem.getProblem();
  return llvm::any_of(dependences.predecessors(node), ties) ||
         llvm::any_of(dependences.successors(node), ties);
}

/// Whether `op` is a constant, or a view of what comes from outside of the set,
/// be it by way of other such views.
bool Border::isTakenFromOutside(Operation *op) const {
  if (op->hasTrait<OpTrait::ConstantLike>())
    return true;
  if (!isa<AliasOpInterface, ViewLikeOpInterface>(op) ||
      op->getNumRegions() != 0 || !isMemoryEffectFree(op))
    return false;
  auto isView = [&](OpResult result) {
    return llvm::is_contained(op->getOperands(), getAliasedValue(result));
  };
  return llvm::all_of(op->getResults(), isView) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return placeOf(operand.getDefiningOp()) != Place::Inside;
         });
}

void Border::divide(RegionSet &result, SmallVectorImpl<Operation *> &passedOn,
                    std::vector<NodeId> &nodes) {
  for (NodeId node : set.members) {
    Operation *op = problem.getOperation(node);
    places[op] = isTakenFromOutside(op) && !isTiedByMemory(node)
                     ? Place::Border
                     : Place::Inside;
  }
  // From users to what they use: those that members alone use go along.
  Block *block = problem.getOperation(set.members.front())->getBlock();
  DenseSet<Operation *> copied;
  for (NodeId node : llvm::reverse(set.members)) {
    Operation *op = problem.getOperation(node);
    Place &place = places[op];
    if (place == Place::Inside)
      continue;
    bool isUsedInside = false, isUsedOutside = op->use_empty();
    for (Operation *user : op->getUsers()) {
      user = block->findAncestorOpInBlock(*user);
      bool isInside = placeOf(user) == Place::Inside;
      isUsedInside |= isInside || copied.contains(user);
      isUsedOutside |= !isInside;
    }
    place = isUsedOutside ? Place::PassedOn : Place::Inside;
    if (isUsedOutside && isUsedInside)
      copied.insert(op);
  }
  for (NodeId node : set.members) {
    Operation *op = problem.getOperation(node);
    if (places[op] == Place::Inside) {
      result.members.push_back(op);
      nodes.push_back(node);
      continue;
    }
    passedOn.push_back(op);
    if (copied.contains(op))
      result.copied.push_back(op);
  }
}

//===----------------------------------------------------------------------===//
// The block
//===----------------------------------------------------------------------===//

FailureOr<MarkedBlock>
mlir::commsched::planBlock(Block &block, ArrayRef<MarkedOperation> marked) {
  // What operations cost is of no interest here.
  auto getCost = [](Operation *) { return std::optional<int64_t>(0); };
  FailureOr<BlockProblem> problem = BlockProblem::create(block, getCost);
  if (failed(problem))
    return failure();
  MarkedBlock plan{std::move(*problem), {}, {}, {}};
  const Problem &dependences = plan.problem.getProblem();
  SmallVector<int32_t> regions;
  std::vector<int32_t> labels = makeLabels(plan.problem, marked, regions);
  Location loc = block.getParentOp()->getLoc();
  Result<std::vector<ConvexSet>> sets = formConvexSets(dependences, labels);
  if (!sets) {
    emitError(loc, "no regions were found: ") << sets.error();
    return failure();
  }

  std::vector<int32_t> setOf(labels.size(), noLabel);
  for (auto [index, set] : llvm::enumerate(*sets))
    for (NodeId node : set.members)
      setOf[node] = static_cast<int32_t>(index);
  OrderWishes wishes;
  for (auto [index, set] : llvm::enumerate(*sets)) {
    RegionSet regionSet;
    regionSet.region = regions[set.label];
    std::vector<NodeId> nodes;
    Border(plan.problem, setOf, set, static_cast<int32_t>(index))
        .divide(regionSet, plan.passedOn, nodes);
    if (nodes.empty())
      continue;
    NodeId anchor = nodes.front();
    wishes.groups.push_back({std::move(nodes), anchor});
    plan.sets.push_back(std::move(regionSet));
  }
  Result<GroupedOrder> sorted = sortInGroups(dependences, wishes);
  if (!sorted) {
    emitError(loc, "no order was found: ") << sorted.error();
    return failure();
  }
  assert(llvm::none_of(sorted->conflicts,
                       [](const auto &conflict) { return conflict; }) &&
         "sets that can run as one stand together");
  plan.order = std::move(sorted->order);
  if (areRemarksEnabled(block.getParentOp()))
    for (auto [node, label] : llvm::enumerate(labels))
      if (label != noLabel && setOf[node] == noLabel)
        remarkSplitPair(plan.problem.getOperation(node),
                        dependences.kind(node) == NodeKind::Start);
  return plan;
}
