//===- Split.cpp - Two halves of a joint graph ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/Split.h"

#include "CommSched/Partition/Classification.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

using namespace mlir::commsched;
using namespace mlir::commsched::partition;

namespace {

/// Why a half needs a node.
enum class Need : uint8_t { None, Result, Saved, Effect, Operand, Memory };

/// The first need that was found, and whose it is (of an Operand or Memory).
struct Demand {
  Need need = Need::None;
  NodeId by = noNode;

  explicit operator bool() const { return need != Need::None; }
  void add(Need other, NodeId from) {
    if (need == Need::None)
      *this = {other, from};
  }
};

class Splitter {
public:
  Splitter(const JointGraph &graph, bool allowCollectives)
      : graph(graph), allowCollectives(allowCollectives) {}

  PartitionResult<Split> run(const std::vector<NodeId> &saved);

private:
  void findEffects();
  void visit(NodeId node);
  Split makeSplit() const;

  std::optional<PartitionConflict> check() const;
  std::optional<PartitionConflict> checkSaved(NodeId node) const;
  std::optional<PartitionConflict> checkForward(NodeId node) const;
  std::optional<PartitionConflict> checkRepeated(NodeId node) const;
  std::optional<PartitionConflict> checkWaits(NodeId node) const;

  bool isInForward(NodeId operation) const { return bool(forward[operation]); }
  bool isInBackward(NodeId operation) const {
    return (backward[operation] && !isHandedOver[operation]) ||
           hasBackwardEffect[operation];
  }
  bool isInFlight(NodeId node) const;
  const char *whyNotRepeated(NodeId operation) const;

  const JointGraph &graph;
  bool allowCollectives;
  Csr<NodeId> memoryBefore;
  // All by node.
  std::vector<char> isAskedFor;
  std::vector<char> isHandedOver;
  std::vector<char> hasForwardEffect;
  std::vector<char> hasBackwardEffect;
  std::vector<Demand> forward;
  std::vector<Demand> backward;
};

} // namespace

//===----------------------------------------------------------------------===//
// The sweep
//===----------------------------------------------------------------------===//

/// Whether `node` is a start, whose one result has to be waited for.
bool Splitter::isInFlight(NodeId node) const {
  ArrayView<NodeId> users = graph.getUsers(node);
  return graph[node].kind == JointNodeKind::Operation &&
         graph[node].operatorClass == OperatorClass::Collective &&
         !graph[node].isSaveable && !users.empty() &&
         graph[users[0]].kind != JointNodeKind::Result;
}

void Splitter::findEffects() {
  hasForwardEffect.assign(graph.size(), 0);
  hasBackwardEffect.assign(graph.size(), 0);
  std::vector<char> needsBackward(graph.size(), 0);
  for (NodeId node = 0; node < graph.size(); ++node) {
    needsBackward[node] = isOnlyInBackward(graph[node]);
    for (NodeId operand : graph.getOperands(node)) {
      needsBackward[node] |= needsBackward[operand];
      // A start is no use without its wait.
      if (isInFlight(operand)) {
        hasForwardEffect[node] |= hasForwardEffect[operand];
        hasBackwardEffect[node] |= hasBackwardEffect[operand];
      }
    }
    const JointNode &data = graph[node];
    if (data.kind != JointNodeKind::Operation)
      continue;
    if (data.tag == PartitionTag::MustBeForward ||
        (isKeptInForward(data) && !needsBackward[node]))
      hasForwardEffect[node] = 1;
    if (isKeptInBackward(data) || (data.isPinned && needsBackward[node]))
      hasBackwardEffect[node] = 1;
  }
}

void Splitter::visit(NodeId node) {
  if (backward[node] &&
      (isAskedFor[node] || graph[node].kind == JointNodeKind::Primal)) {
    isHandedOver[node] = 1;
    forward[node].add(Need::Saved, noNode);
  }
  if (graph.isArgument(node))
    return;
  if (hasForwardEffect[node])
    forward[node].add(Need::Effect, noNode);
  if (isInForward(node)) {
    for (NodeId operand : graph.getOperands(node))
      forward[operand].add(Need::Operand, node);
    for (NodeId before : memoryBefore[node])
      forward[before].add(Need::Memory, node);
  }
  if (isInBackward(node)) {
    backward[node].add(Need::Effect, noNode);
    for (NodeId operand : graph.getOperands(node))
      backward[operand].add(Need::Operand, node);
  }
}

Split Splitter::makeSplit() const {
  Split split;
  split.inForward.assign(graph.size(), 0);
  split.inBackward.assign(graph.size(), 0);
  for (NodeId node = 0; node < graph.size(); ++node) {
    if (isHandedOver[node])
      split.saved.push_back(node);
    if (graph.isArgument(node))
      continue;
    split.inForward[node] = isInForward(graph.getOperation(node));
    split.inBackward[node] = isInBackward(graph.getOperation(node));
  }
  return split;
}

PartitionResult<Split> Splitter::run(const std::vector<NodeId> &saved) {
  const std::vector<JointGraph::Edge> &order = graph.getMemoryOrder();
  memoryBefore.build(
      graph.size(), order.size(),
      [&](size_t i) { return graph.getOperation(order[i].to); },
      [&](size_t i) { return graph.getOperation(order[i].from); });
  isAskedFor.assign(graph.size(), 0);
  for (NodeId node : saved)
    isAskedFor[node] = 1;
  isHandedOver.assign(graph.size(), 0);
  findEffects();
  forward.assign(graph.size(), {});
  backward.assign(graph.size(), {});
  for (NodeId result : graph.getForwardResults())
    forward[result].add(Need::Result, noNode);
  for (NodeId result : graph.getBackwardResults())
    backward[result].add(Need::Result, noNode);
  for (NodeId node = graph.size() - 1; node >= 0; --node)
    visit(node);
  if (std::optional<PartitionConflict> conflict = check())
    return *conflict;
  return makeSplit();
}

//===----------------------------------------------------------------------===//
// Conflicts
//===----------------------------------------------------------------------===//

/// Checks that a value to save can be saved, and that the backward does not
/// have to compute it again.
std::optional<PartitionConflict> Splitter::checkSaved(NodeId node) const {
  if (!isHandedOver[node])
    return std::nullopt;
  PartitionConflict conflict;
  conflict.node = node;
  if (backward[node].need == Need::Operand) {
    conflict.other = backward[node].by;
    conflict.otherReason = "needs it in the backward";
  }
  if (!graph[node].isSaveable)
    conflict.reason = "cannot be saved, for a function cannot return it";
  else if (!graph.isArgument(node) &&
           graph[node].policy != RecomputePolicy::MustSave &&
           graph[graph.getOperation(node)].policy ==
               RecomputePolicy::MustRecompute)
    conflict.reason = "is to be saved, but has to be computed again";
  else
    return std::nullopt;
  return conflict;
}

/// The forward does not need what only the backward has.
std::optional<PartitionConflict> Splitter::checkForward(NodeId node) const {
  if (!isOnlyInBackward(graph[node]) || !forward[node])
    return std::nullopt;
  const char *what = whyOnlyInBackward(graph[node]);
  NodeId user = node;
  while (forward[user].need == Need::Operand)
    user = forward[user].by;
  if (forward[user].need == Need::Memory)
    return PartitionConflict{
        forward[user].by,
        "is in the forward and touches memory after what only the backward "
        "can compute",
        user, user == node ? what : "needs what only the backward has", noNode};
  PartitionConflict conflict;
  conflict.node = user;
  conflict.reason =
      forward[user].need == Need::Result  ? "is a result of the forward"
      : forward[user].need == Need::Saved ? "is to be saved by the forward"
                                          : "has to be in the forward";
  if (user == node) {
    conflict.reason += std::string(", but ") + what;
    return conflict;
  }
  conflict.reason += ", but needs what only the backward has";
  conflict.other = node;
  conflict.otherReason = what;
  if (forward[node].need == Need::Operand && forward[node].by != user)
    conflict.reader = forward[node].by;
  return conflict;
}

/// The end of a sentence that begins with the operation; null if the backward
/// may repeat it.
const char *Splitter::whyNotRepeated(NodeId operation) const {
  const JointNode &node = graph[operation];
  if (node.operatorClass == OperatorClass::Random)
    return "draws random numbers";
  if (node.isPinned && node.operatorClass == OperatorClass::Collective)
    return "must run exactly once";
  if (node.isPinned)
    return "touches memory that is written";
  if (node.tag == PartitionTag::MustBeForward)
    return "has to be in the forward";
  if (node.policy == RecomputePolicy::MustSave)
    return "has to be saved";
  bool isAllowed = allowCollectives ||
                   node.policy == RecomputePolicy::PreferRecompute ||
                   node.policy == RecomputePolicy::MustRecompute;
  if (node.operatorClass == OperatorClass::Collective && !isAllowed)
    return "communicates";
  return nullptr;
}

std::optional<PartitionConflict> Splitter::checkRepeated(NodeId node) const {
  if (graph[node].kind != JointNodeKind::Operation || !isInForward(node) ||
      !isInBackward(node))
    return std::nullopt;
  const char *reason = whyNotRepeated(node);
  if (!reason)
    return std::nullopt;
  PartitionConflict conflict;
  conflict.node = node;
  if (graph[node].policy == RecomputePolicy::MustRecompute)
    conflict.reason = std::string("has to be computed again, but ") + reason;
  else
    conflict.reason =
        std::string(reason) +
        ", so it cannot be computed again, but is not saved for the backward";
  // Past what is only repeated for the sake of another.
  NodeId user = node;
  while (backward[user].need == Need::Operand) {
    user = backward[user].by;
    if (!isInForward(graph.getOperation(user)))
      break;
  }
  if (user == node)
    return conflict;
  conflict.other = user;
  conflict.otherReason = graph.getOperation(user) == node
                             ? "is a result of the backward"
                             : "is in the backward and needs it";
  return conflict;
}

/// The forward waits for what it starts. So does the backward, which has a
/// start for its wait alone, or both for their effect.
std::optional<PartitionConflict> Splitter::checkWaits(NodeId node) const {
  if (!isInForward(node) || !isInFlight(node))
    return std::nullopt;
  NodeId wait = graph.getUsers(node)[0];
  if (isInForward(wait))
    return std::nullopt;
  return PartitionConflict{node, "is started in the forward", wait,
                           "waits for it, but is not in the forward", noNode};
}

std::optional<PartitionConflict> Splitter::check() const {
  for (auto checkNode : {&Splitter::checkSaved, &Splitter::checkForward,
                         &Splitter::checkRepeated, &Splitter::checkWaits})
    for (NodeId node = 0; node < graph.size(); ++node)
      if (std::optional<PartitionConflict> conflict = (this->*checkNode)(node))
        return conflict;
  return std::nullopt;
}

PartitionResult<Split> partition::split(const JointGraph &graph,
                                        const std::vector<NodeId> &saved,
                                        bool allowCollectives) {
  return Splitter(graph, allowCollectives).run(saved);
}

int64_t partition::computeSavedBytes(const JointGraph &graph,
                                     const std::vector<NodeId> &saved) {
  std::vector<char> isSaved(graph.size(), 0);
  for (NodeId value : saved)
    isSaved[value] = 1;

  int64_t total = 0;
  // By storage: the bytes of the largest saved value in it.
  std::unordered_map<int32_t, int64_t> largest;
  for (NodeId value = 0; value < graph.size(); ++value) {
    if (!isSaved[value])
      continue;
    const JointNode &node = graph[value];
    if (node.storage >= 0)
      largest[node.storage] = std::max(largest[node.storage], node.bytes);
    else if (!graph.isArgument(value))
      total += node.bytes;
  }
  // The first value in a storage is what made it.
  for (NodeId owner = 0; owner < graph.size() && !largest.empty(); ++owner) {
    auto found = largest.find(graph[owner].storage);
    if (found == largest.end())
      continue;
    if (!graph.isArgument(owner))
      total += std::max(found->second, graph[owner].bytes);
    largest.erase(found);
  }
  return total;
}
