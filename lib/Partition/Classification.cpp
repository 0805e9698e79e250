//===- Classification.cpp - Needs of forward and backward -----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/Classification.h"

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::partition;

bool partition::isKeptInForward(const JointNode &node) {
  if (node.tag == PartitionTag::MustBeForward)
    return true;
  return node.isPinned && node.tag != PartitionTag::Backward &&
         node.tag != PartitionTag::MustBeBackward;
}

bool partition::isKeptInBackward(const JointNode &node) {
  return node.tag == PartitionTag::MustBeBackward ||
         (node.isPinned && node.tag == PartitionTag::Backward);
}

bool partition::isOnlyInBackward(const JointNode &node) {
  return isBackwardArgument(node.kind) || isKeptInBackward(node);
}

const char *partition::whyOnlyInBackward(const JointNode &node) {
  switch (node.kind) {
  case JointNodeKind::Tangent:
    return "is a tangent, which only the backward has";
  case JointNodeKind::BackwardSeed:
    return "is a random state that only the backward has";
  default:
    return "has to be in the backward";
  }
}

namespace {

class Classifier {
public:
  explicit Classifier(const JointGraph &graph) : graph(graph) {}

  PartitionResult<Classification> run() {
    findTangentUsers();
    if (std::optional<PartitionConflict> conflict = findForward())
      return *conflict;
    findBackward();
    measureDistances();
    findGatheredParameters();
    return std::move(result);
  }

private:
  void findTangentUsers();
  std::optional<PartitionConflict> findForward();
  PartitionConflict explain(NodeId node, std::string why) const;
  void findBackward();
  void measureDistances();
  void findGatheredParameters();

  const JointGraph &graph;
  Classification result;
  /// By node that needs a tangent: the first thing of the backward that it
  /// needs, for messages.
  std::vector<NodeId> origins;
};

} // namespace

void Classifier::findTangentUsers() {
  result.needsTangent.assign(graph.size(), 0);
  origins.assign(graph.size(), noNode);
  for (NodeId node = 0; node < graph.size(); ++node) {
    if (isOnlyInBackward(graph[node]))
      origins[node] = node;
    else
      for (NodeId operand : graph.getOperands(node))
        if (origins[node] == noNode)
          origins[node] = origins[operand];
    result.needsTangent[node] = origins[node] != noNode;
  }
}

/// `node`, which belongs to the forward because of `why`, needs what only the
/// backward has.
PartitionConflict Classifier::explain(NodeId node, std::string why) const {
  NodeId origin = origins[node];
  const char *what = whyOnlyInBackward(graph[origin]);
  if (origin == node)
    return {node, why + ", but " + what, noNode, "", noNode};
  NodeId user = node, read = node;
  while (read != origin) {
    user = read;
    ArrayView<NodeId> operands = graph.getOperands(user);
    read = *std::find_if(operands.begin(), operands.end(), [&](NodeId operand) {
      return origins[operand] == origin;
    });
  }
  return {node, why + ", but needs what only the backward has", origin, what,
          user == node ? noNode : user};
}

std::optional<PartitionConflict> Classifier::findForward() {
  std::vector<char> &required = result.requiredForward;
  required.assign(graph.size(), 0);
  for (NodeId value : graph.getForwardResults()) {
    required[value] = 1;
    if (result.needsTangent[value])
      return explain(value, "is a result of the forward");
  }
  for (NodeId node = graph.size() - 1; node >= 0; --node) {
    if (graph[node].kind == JointNodeKind::Primal)
      required[node] = 1;
    if (isKeptInForward(graph[node])) {
      // An effect without a tag belongs where its operands are.
      if (!result.needsTangent[node])
        required[node] = 1;
      else if (graph[node].tag == PartitionTag::MustBeForward)
        return explain(node, "has to be in the forward");
    }
    if (required[node])
      for (NodeId operand : graph.getOperands(node))
        required[operand] = 1;
  }
  int32_t numForward = 0;
  result.forwardOrder.assign(graph.size(), -1);
  for (NodeId node = 0; node < graph.size(); ++node)
    if (required[node])
      result.forwardOrder[node] = numForward++;
  return std::nullopt;
}

void Classifier::findBackward() {
  result.requiredBackward = result.needsTangent;
  for (NodeId value : graph.getBackwardResults())
    result.requiredBackward[value] = 1;
}

void Classifier::measureDistances() {
  std::vector<int32_t> &distance = result.distanceToBackward;
  distance.assign(graph.size(), Classification::far);
  for (NodeId node = graph.size() - 1; node >= 0; --node) {
    if (!result.requiredForward[node])
      distance[node] = 0;
    else
      for (NodeId user : graph.getUsers(node))
        distance[node] = std::min(distance[node], distance[user] + 1);
  }
}

void Classifier::findGatheredParameters() {
  std::vector<char> fromParameters(graph.size(), 0);
  result.isGatheredParameter.assign(graph.size(), 0);
  for (NodeId node = 0; node < graph.size(); ++node) {
    const JointNode &data = graph[node];
    if (graph.isArgument(node)) {
      fromParameters[node] = data.isStatic;
      continue;
    }
    // A product of two parameters is computation, not a parameter.
    if (data.isPinned || data.operatorClass == OperatorClass::Random ||
        data.operatorClass == OperatorClass::ComputeIntensive)
      continue;
    bool gathered = data.operatorClass == OperatorClass::Collective;
    bool derived = data.operatorClass == OperatorClass::Constant ||
                   !graph.getOperands(node).empty();
    for (NodeId operand : graph.getOperands(node)) {
      derived &= fromParameters[operand] != 0;
      gathered |= result.isGatheredParameter[operand] != 0;
    }
    fromParameters[node] = derived;
    result.isGatheredParameter[node] = derived && gathered;
  }
}

PartitionResult<Classification> partition::classify(const JointGraph &graph) {
  return Classifier(graph).run();
}
