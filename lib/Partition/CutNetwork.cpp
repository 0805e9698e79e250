//===- CutNetwork.cpp - Networks of saved and repeated values -------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CutNetwork.h"

#include <utility>

using namespace mlir::commsched;
using namespace mlir::commsched::partition;

bool partition::isFreeToRepeat(const JointNode &node) {
  return node.kind == JointNodeKind::Operation && !node.isPinned &&
         (node.operatorClass == OperatorClass::View ||
          node.operatorClass == OperatorClass::Constant);
}

namespace {

/// Two vertices for each node: `in` is on the sink's side if the backward
/// computes the node, `out` if the backward has it. What needs a tangent is on
/// the sink's side and has no edges: the sink stands for it.
class CutNetwork {
public:
  CutNetwork(const JointGraph &graph, const Classification &classes,
             const std::vector<BanReason> &bans, const CutWeights &weights)
      : graph(graph), classes(classes), bans(bans), weights(weights) {}

  PartitionResult<std::vector<NodeId>> solve();

private:
  static VertexId getIn(NodeId node) { return 2 + 2 * node; }
  static VertexId getOut(NodeId node) { return 3 + 2 * node; }
  static NodeId getNode(VertexId vertex) { return (vertex - 2) / 2; }

  /// Whether the backward reads `node` where it needs a tangent or returns it.
  bool isRead(NodeId node) const {
    return classes.requiredBackward[node] || findTangentUser(node) != noNode;
  }
  NodeId findTangentUser(NodeId node) const;
  void addNode(NodeId node);
  PartitionConflict
  explain(const std::vector<FlowNetwork::Edge> &unboundedPath) const;

  const JointGraph &graph;
  const Classification &classes;
  const std::vector<BanReason> &bans;
  const CutWeights &weights;
  FlowNetwork network;
};

} // namespace

/// The first user of `node` that needs a tangent.
NodeId CutNetwork::findTangentUser(NodeId node) const {
  for (NodeId user : graph.getUsers(node))
    if (classes.needsTangent[user])
      return user;
  return noNode;
}

void CutNetwork::addNode(NodeId node) {
  if (classes.needsTangent[node])
    return;
  if (isRead(node))
    network.addEdge(getOut(node), FlowNetwork::sink, FlowNetwork::unbounded);
  if (isToBeRecomputed(graph[node])) {
    network.addEdge(getIn(node), FlowNetwork::sink, FlowNetwork::unbounded);
    return;
  }
  if (weights.repeat[node] != 0)
    network.addEdge(FlowNetwork::source, getIn(node), weights.repeat[node]);
  network.addEdge(getIn(node), getOut(node), weights.save[node]);
  NodeId previous = noNode;
  for (NodeId user : graph.getUsers(node))
    if (user != std::exchange(previous, user) && !classes.needsTangent[user])
      network.addEdge(getOut(node), getIn(user), FlowNetwork::unbounded);
}

PartitionConflict
CutNetwork::explain(const std::vector<FlowNetwork::Edge> &unboundedPath) const {
  // source -> in(node) [-> out(node) -> in(user) …] -> sink; into the sink from
  // in(last) or out(last).
  NodeId node = getNode(unboundedPath.front().to);
  NodeId last = getNode(unboundedPath.back().from);
  PartitionConflict conflict;
  conflict.node = node;
  conflict.reason =
      std::string("cannot be computed again, for it ") + toString(bans[node]);
  if (!graph[node].isSaveable)
    conflict.reason += ", and is no value that can be saved";
  conflict.other = last;
  bool isComputed = unboundedPath.back().from == getIn(last);
  if (isComputed) {
    conflict.otherReason = "has to be computed again";
  } else if (classes.requiredBackward[last]) {
    conflict.otherReason = "is a result of the backward";
  } else {
    conflict.other = findTangentUser(last);
    conflict.otherReason = "is computed in the backward";
  }
  return conflict;
}

PartitionResult<std::vector<NodeId>> CutNetwork::solve() {
  for (NodeId node = 0; node < graph.size(); ++node) {
    network.addVertex();
    network.addVertex();
  }
  for (NodeId node = 0; node < graph.size(); ++node)
    addNode(node);
  FlowNetwork::Cut cut = network.findMinimumCut();
  if (Status status = network.verify(cut); !status)
    return PartitionConflict{noNode, "has no valid cut: " + status.error(),
                             noNode, ""};
  if (!cut.unboundedPath.empty())
    return explain(cut.unboundedPath);
  std::vector<NodeId> saved;
  for (NodeId node = 0; node < graph.size(); ++node)
    if (!classes.needsTangent[node] && !cut.onSinkSide[getIn(node)] &&
        cut.onSinkSide[getOut(node)])
      saved.push_back(node);
  return saved;
}

PartitionResult<std::vector<NodeId>>
partition::solveCut(const JointGraph &graph, const Classification &classes,
                    const std::vector<BanReason> &bans,
                    const CutWeights &weights) {
  return CutNetwork(graph, classes, bans, weights).solve();
}
