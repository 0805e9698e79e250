//===- FsdpGroups.cpp - What belongs to a collective of FSDP --------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FsdpGroups.h"
#include "CommSched/Analysis/Problem/Aliasing.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Analysis/Problem/StorageAnalysis.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include <queue>

using namespace mlir;
using namespace mlir::commsched;
using cost::CollectiveKind;
using schedule::DependenceEnd;
using schedule::NodeId;
using schedule::noNode;
using schedule::Problem;

namespace {

/// Collects the groups of one block.
class Finder {
public:
  Finder(Block &block, const Problem &problem);
  SmallVector<FsdpGroup> run();

private:
  bool claim(NodeId node);
  void findPreparations();
  bool isNeededBefore(NodeId node, NodeId copyIn,
                      const DenseSet<NodeId> &members,
                      const DenseSet<NodeId> &refused) const;
  void collectStart(FsdpGroup &group);
  void collectWait(FsdpGroup &group);
  void dropDanglingViews(SmallVectorImpl<NodeId> &members);

  const Problem &problem;
  SmallVector<Operation *> operations;
  DenseMap<Operation *, NodeId> nodeOf;
  /// By node: whether a group has it, or has looked at it in vain.
  std::vector<bool> isTaken;
  /// By node: whether it only leads to copy-ins of gathers.
  std::vector<bool> isPreparation;
};

} // namespace

/// Whether `op` makes views or writes in place, and has no memory effects.
static bool isPureAlias(Operation *op) {
  return isMemoryEffectFree(op) && allResultsAlias(op);
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

Finder::Finder(Block &block, const Problem &problem) : problem(problem) {
  for (Operation &op : getScheduledOperations(block)) {
    nodeOf[&op] = static_cast<NodeId>(operations.size());
    operations.push_back(&op);
  }
  isTaken.resize(operations.size());
  findPreparations();
}

/// Takes `node` for a group, unless another has taken it.
bool Finder::claim(NodeId node) {
  if (isTaken[node])
    return false;
  isTaken[node] = true;
  return true;
}

void Finder::findPreparations() {
  auto isCopyInOrPreparation = [&](Operation *user) {
    NodeId node = nodeOf.lookup_or(user, noNode);
    return node != noNode &&
           (isa<AllGatherCopyInOp>(user) || isPreparation[node]);
  };
  isPreparation.resize(operations.size());
  // Users come after what they use.
  for (NodeId node = operations.size() - 1; node >= 0; --node) {
    Operation *op = operations[node];
    isPreparation[node] =
        isDerivation(op) && llvm::all_of(op->getUsers(), isCopyInOrPreparation);
  }
}

/// Whether another operation than `members` has to run between `node` and the
/// copy-in, such as one that writes in place what `node` reads. Preparations of
/// other gathers do not count, as they go to these.
bool Finder::isNeededBefore(NodeId node, NodeId copyIn,
                            const DenseSet<NodeId> &members,
                            const DenseSet<NodeId> &refused) const {
  ArrayView<DependenceEnd> successors = problem.successors(node);
  return llvm::any_of(successors, [&](DependenceEnd end) {
    bool goesElsewhere = isPreparation[end.node] && !refused.contains(end.node);
    return end.node < copyIn && !members.contains(end.node) && !goesElsewhere;
  });
}

void Finder::collectStart(FsdpGroup &group) {
  DenseSet<NodeId> members, refused;
  NodeId node = nodeOf.at(group.collective);
  Value sent =
      cast<CollectiveOpInterface>(group.collective).getSentValues().front();
  for (; node != group.copyIn; sent = getAliasedValue(cast<OpResult>(sent))) {
    members.insert(node);
    node = nodeOf.at(sent.getDefiningOp());
  }
  // Later operations first, so that it is known which users are members.
  std::priority_queue<NodeId> open;
  open.push(group.copyIn);
  while (!open.empty()) {
    node = open.top();
    open.pop();
    if (node != group.copyIn &&
        isNeededBefore(node, group.copyIn, members, refused)) {
      refused.insert(node);
      continue;
    }
    members.insert(node);
    for (Value operand : operations[node]->getOperands()) {
      NodeId producer = nodeOf.lookup_or(operand.getDefiningOp(), noNode);
      if (producer != noNode && isPreparation[producer] && claim(producer))
        open.push(producer);
    }
  }
  group.startMembers.assign(members.begin(), members.end());
  llvm::sort(group.startMembers);
  for (NodeId member : group.startMembers)
    isTaken[member] = true;
}

/// Gives the views back that lead to no other member.
void Finder::dropDanglingViews(SmallVectorImpl<NodeId> &members) {
  DenseSet<NodeId> kept;
  for (NodeId node : llvm::reverse(members)) {
    Operation *op = operations[node];
    bool leadsOn = llvm::any_of(op->getUsers(), [&](Operation *user) {
      return kept.contains(nodeOf.lookup_or(user, noNode));
    });
    isTaken[node] = !isPureAlias(op) || leadsOn;
    if (isTaken[node])
      kept.insert(node);
  }
  llvm::erase_if(members, [&](NodeId node) { return !kept.contains(node); });
}

void Finder::collectWait(FsdpGroup &group) {
  bool isGather = group.kind == CollectiveKind::AllGather;
  auto isMember = [&](Operation *user) {
    return isGather ? isa<SplitWithSizesCopyOp, FsdpCopyOp>(user) ||
                          isPureAlias(user)
                    : isDerivation(user);
  };
  isTaken[group.wait] = true;
  group.waitMembers.push_back(group.wait);
  for (size_t index = 0; index < group.waitMembers.size(); ++index) {
    Operation *source = operations[group.waitMembers[index]];
    for (Operation *user : source->getUsers())
      if (NodeId node = nodeOf.lookup_or(user, noNode);
          node != noNode && isMember(user) && claim(node))
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
    Operation *wait = collective.getWait();
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

SmallVector<FsdpGroup> mlir::commsched::findFsdpGroups(Block &block,
                                                       const Problem &problem) {
  return Finder(block, problem).run();
}
