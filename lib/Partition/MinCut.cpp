//===- MinCut.cpp - The cheapest values to save ------------------------------
//===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/MinCut.h"
#include "CommSched/Partition/FlowNetwork.h"
#include "RecomputeBans.h"

#include <algorithm>
#include <array>
#include <utility>

using namespace mlir::commsched;
using namespace mlir::commsched::partition;

namespace {

/// The most operations that a value's weight counts to the backward.
constexpr int32_t maxWeightDistance = 100;

class CutProblem {
public:
  CutProblem(const JointGraph &graph, const Classification &classes,
             const CutOptions &options, const std::vector<BanReason> &bans)
      : graph(graph), classes(classes), options(options), bans(bans) {
    // By multiplication alone, so that every machine gets the same weights.
    factors[0] = 1;
    for (size_t i = 1; i < factors.size(); ++i)
      factors[i] = factors[i - 1] * 1.1;
  }

  PartitionResult<std::vector<NodeId>> solve();

private:
  static VertexId getIn(NodeId node) { return 2 + 2 * node; }
  static VertexId getOut(NodeId node) { return 3 + 2 * node; }
  static NodeId getNode(VertexId vertex) { return (vertex - 2) / 2; }

  void addNode(NodeId node);
  int64_t getWeight(NodeId node) const;
  PartitionConflict
  explain(const std::vector<FlowNetwork::Edge> &unboundedPath) const;

  const JointGraph &graph;
  const Classification &classes;
  const CutOptions &options;
  const std::vector<BanReason> &bans;
  FlowNetwork network;
  std::array<double, maxWeightDistance + 1> factors;
};

} // namespace

int64_t CutProblem::getWeight(NodeId node) const {
  const JointNode &data = graph[node];
  if (!data.isSaveable)
    return FlowNetwork::unbounded;
  if (options.treatParametersAsFreeToSave &&
      data.kind == JointNodeKind::Primal && !data.isFreeable)
    return 0;
  // But for what the user has saved or keeps in the forward.
  if (isFreeToRepeat(data) && bans[node] == BanReason::None &&
      (options.recomputeViews || data.operatorClass == OperatorClass::Constant))
    return FlowNetwork::unbounded;
  int32_t distance =
      std::clamp(classes.distanceToBackward[node], 1, maxWeightDistance);
  double weight = static_cast<double>(data.bytes) * factors[distance];
  bool isMaterialized = graph.isArgument(node);
  for (NodeId user : graph.getUsers(node))
    isMaterialized |=
        !areFusible(getFusionClass(data), getFusionClass(graph[user]));
  if (!isMaterialized)
    weight *= 2;
  constexpr double most = 4e18;
  return static_cast<int64_t>(std::min(weight, most));
}

void CutProblem::addNode(NodeId node) {
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
  if (bans[node] != BanReason::None)
    network.addEdge(FlowNetwork::source, getIn(node), FlowNetwork::unbounded);
  network.addEdge(getIn(node), getOut(node), getWeight(node));
  NodeId previous = noNode;
  for (NodeId user : graph.getUsers(node))
    if (user != std::exchange(previous, user))
      network.addEdge(getOut(node), getIn(user), FlowNetwork::unbounded);
}

PartitionConflict
CutProblem::explain(const std::vector<FlowNetwork::Edge> &unboundedPath) const {
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

PartitionResult<std::vector<NodeId>> CutProblem::solve() {
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
partition::solveMinCut(const JointGraph &graph, const Classification &classes,
                       const CutOptions &options,
                       const std::vector<BanReason> &bans) {
  return CutProblem(graph, classes, options, bans).solve();
}
