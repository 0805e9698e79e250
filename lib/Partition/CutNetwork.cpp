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
/// computes the node, `out` if the backward has it.
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

void CutNetwork::addNode(NodeId node) {
  if (classes.needsTangent[node]) {
    network.addEdge(getIn(node), FlowNetwork::sink, FlowNetwork::unbounded);
    return;
  }
  if (classes.requiredBackward[node])
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
    if (user != std::exchange(previous, user))
      network.addEdge(getOut(node), getIn(user), FlowNetwork::unbounded);
}

PartitionConflict
CutNetwork::explain(const std::vector<FlowNetwork::Edge> &unboundedPath) const {
  // source -> in(node) [-> out(node) -> in(user) …] -> sink
  NodeId node = getNode(unboundedPath.front().to);
  NodeId last = getNode(unboundedPath.back().from);
  PartitionConflict conflict;
  conflict.node = node;
  conflict.reason =
      std::string("cannot be computed again, for it ") + toString(bans[node]);
  if (!graph[node].isSaveable)
    conflict.reason += ", and is no value that can be saved";
  conflict.other = last;
  if (isToBeRecomputed(graph[last]))
    conflict.otherReason = "has to be computed again";
  else if (classes.needsTangent[last])
    conflict.otherReason = "is computed in the backward";
  else
    conflict.otherReason = "is a result of the backward";
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
    if (!cut.onSinkSide[getIn(node)] && cut.onSinkSide[getOut(node)])
      saved.push_back(node);
  return saved;
}

PartitionResult<std::vector<NodeId>>
partition::solveCut(const JointGraph &graph, const Classification &classes,
                    const std::vector<BanReason> &bans,
                    const CutWeights &weights) {
  return CutNetwork(graph, classes, bans, weights).solve();
}
