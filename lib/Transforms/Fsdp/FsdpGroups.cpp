//===- FsdpGroups.cpp - What belongs to a collective of FSDP --------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FsdpGroups.h"
#include "CommSched/Analysis/Aliasing.h"
#include "CommSched/Analysis/CommunicationEffects.h"
#include "CommSched/Analysis/StorageAnalysis.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include <queue>

using namespace mlir;
using namespace mlir::commsched;
using ::commsched::CollectiveKind;
using ::commsched::NodeId;
using ::commsched::noNode;

namespace {

/// Collects the groups of one block.
class Finder {
public:
  explicit Finder(Block &block);
  SmallVector<FsdpGroup> run();

private:
  /// The place of `op`, or of the operation of the block that it is nested in;
  /// noNode if that is none, or the terminator.
  NodeId findNode(Operation *op) const;
  bool claim(NodeId node);
  void collectStart(FsdpGroup &group);
  void collectWait(FsdpGroup &group);
  void dropDanglingViews(SmallVectorImpl<NodeId> &members) const;

  Block &block;
  SmallVector<Operation *> operations;
  DenseMap<Operation *, NodeId> nodeOf;
  /// By node: whether some group has looked at it as a member. It is not looked
  /// at again, so that an operation with many users costs them once.
  std::vector<bool> isTaken;
};

} // namespace

/// Whether `op` makes views and does nothing else.
static bool isView(Operation *op) {
  return op->getNumResults() > 0 && isMemoryEffectFree(op) &&
         llvm::all_of(op->getOpResults(),
                      [](OpResult result) { return getAliasedValue(result); });
}

/// Whether `op` makes something of one tensor and nothing else matters to it.
static bool isDerivation(Operation *op) {
  if (isa<SplitWithSizesCopyOp, ChunkCatOp>(op) ||
      getCommunicationEffect(op) != CommunicationEffect::None ||
      !isMemoryEffectFree(op))
    return false;
  if (auto cost = dyn_cast<CostOpInterface>(op); cost && cost.isExpensive())
    return false;
  Value source;
  for (Value operand : op->getOperands()) {
    Operation *producer = operand.getDefiningOp();
    bool isMadeOfNothing = producer && producer->getNumOperands() == 0 &&
                           isMemoryEffectFree(producer);
    if (!isa<ShapedType>(operand.getType()) || isMadeOfNothing)
      continue;
    if (source && source != operand)
      return false;
    source = operand;
  }
  return !op->hasTrait<OpTrait::ConstantLike>();
}

/// The copy-in of what `collective` sends; null if it is no FSDP collective.
static Operation *findCopyIn(CollectiveOpInterface collective) {
  CollectiveKind kind = collective.getCollectiveKind();
  bool isGather = kind == CollectiveKind::AllGather;
  if ((!isGather && kind != CollectiveKind::ReduceScatter) ||
      !collective.getInFlightFuture() || collective.getSentValues().size() != 1)
    return nullptr;
  Value sent = collective.getSentValues().front();
  while (auto result = dyn_cast_if_present<OpResult>(sent)) {
    Operation *op = result.getOwner();
    if (isGather ? isa<AllGatherCopyInOp>(op) : isa<ChunkCatOp>(op))
      return op->getBlock() == collective->getBlock() ? op : nullptr;
    sent = getAliasedValue(result);
  }
  return nullptr;
}

Finder::Finder(Block &block) : block(block) {
  for (Operation &op : getScheduledOperations(block)) {
    nodeOf[&op] = static_cast<NodeId>(operations.size());
    operations.push_back(&op);
  }
  isTaken.resize(operations.size());
}

NodeId Finder::findNode(Operation *op) const {
  Operation *ancestor = block.findAncestorOpInBlock(*op);
  return ancestor ? nodeOf.lookup_or(ancestor, noNode) : noNode;
}

/// Whether `node` may still become a member of a group; from now on no more.
bool Finder::claim(NodeId node) {
  if (isTaken[node])
    return false;
  isTaken[node] = true;
  return true;
}

void Finder::collectStart(FsdpGroup &group) {
  // Later operations first, so that it is known which users are members.
  std::priority_queue<NodeId> open;
  auto addOperands = [&](Operation *op) {
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        if (NodeId node = nodeOf.lookup_or(producer, noNode);
            node != noNode && claim(node))
          open.push(node);
  };
  DenseSet<NodeId> members;
  auto isNeededBefore = [&](Operation *op) {
    return llvm::any_of(op->getUsers(), [&](Operation *user) {
      NodeId node = findNode(user);
      return node != noNode && node < group.copyIn && !members.contains(node);
    });
  };
  NodeId start = nodeOf.at(group.collective);
  claim(start);
  members.insert(start);
  addOperands(group.collective);
  bool isGather = group.kind == CollectiveKind::AllGather;
  while (!open.empty()) {
    NodeId node = open.top();
    open.pop();
    Operation *op = operations[node];
    bool isCopyIn = node == group.copyIn;
    if (!isCopyIn && (!isDerivation(op) || isNeededBefore(op)))
      continue;
    members.insert(node);
    if (!isCopyIn || isGather)
      addOperands(op);
  }
  group.startMembers.assign(members.begin(), members.end());
  llvm::sort(group.startMembers);
}

/// Removes the views that lead to no other member.
void Finder::dropDanglingViews(SmallVectorImpl<NodeId> &members) const {
  DenseSet<NodeId> kept;
  for (NodeId node : llvm::reverse(members)) {
    Operation *op = operations[node];
    bool leadsOn = llvm::any_of(op->getUsers(), [&](Operation *user) {
      return kept.contains(nodeOf.lookup_or(user, noNode));
    });
    if (!isView(op) || leadsOn)
      kept.insert(node);
  }
  llvm::erase_if(members, [&](NodeId node) { return !kept.contains(node); });
}

void Finder::collectWait(FsdpGroup &group) {
  bool isGather = group.kind == CollectiveKind::AllGather;
  auto isMember = [&](Operation *user, Operation *source) {
    if (!isGather)
      return isDerivation(user);
    bool isCopiedOut = isa<SplitWithSizesCopyOp, FsdpCopyOp>(source);
    return isa<FsdpCopyOp>(user) || isView(user) ||
           (!isCopiedOut && isa<SplitWithSizesCopyOp>(user));
  };
  claim(group.wait);
  group.waitMembers.push_back(group.wait);
  for (size_t index = 0; index < group.waitMembers.size(); ++index) {
    Operation *source = operations[group.waitMembers[index]];
    for (Operation *user : source->getUsers())
      if (NodeId node = nodeOf.lookup_or(user, noNode);
          node != noNode && !isTaken[node] && isMember(user, source) &&
          claim(node))
        group.waitMembers.push_back(node);
  }
  llvm::sort(group.waitMembers);
  if (isGather)
    dropDanglingViews(group.waitMembers);
}

SmallVector<FsdpGroup> Finder::run() {
  SmallVector<FsdpGroup> groups;
  for (Operation *op : operations) {
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    Operation *copyIn = collective ? findCopyIn(collective) : nullptr;
    // Nothing hinders two collectives from sending one buffer.
    if (!copyIn || isTaken[nodeOf.at(copyIn)])
      continue;
    Operation *wait = *collective.getInFlightFuture().user_begin();
    FsdpGroup group = {collective,
                       collective.getCollectiveKind(),
                       nodeOf.at(copyIn),
                       nodeOf.at(wait),
                       {},
                       {}};
    collectStart(group);
    collectWait(group);
    groups.push_back(std::move(group));
  }
  return groups;
}

SmallVector<FsdpGroup> mlir::commsched::findFsdpGroups(Block &block) {
  return Finder(block).run();
}
