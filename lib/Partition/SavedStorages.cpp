//===- SavedStorages.cpp - Saving storages and sizes ----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/SavedStorages.h"

#include <algorithm>
#include <iterator>
#include <utility>

using namespace mlir::commsched;
using namespace mlir::commsched::partition;

namespace {

/// Which values each half has at hand.
class Availability {
public:
  Availability(const JointGraph &graph, const Split &split)
      : graph(graph), split(split), isSaved(graph.size(), 0) {
    for (NodeId node : split.saved)
      isSaved[node] = 1;
  }

  bool isComputedIn(const std::vector<char> &half, NodeId node) const {
    return half[graph.getOperation(node)];
  }
  bool isInForward(NodeId node) const {
    return graph[node].kind == JointNodeKind::Primal ||
           isComputedIn(split.inForward, node) || isConstant(node);
  }
  bool isInBackward(NodeId node) const {
    return isSaved[node] || graph[node].kind == JointNodeKind::Tangent ||
           isComputedIn(split.inBackward, node) || isConstant(node);
  }
  bool isSavedValue(NodeId node) const { return isSaved[node]; }

private:
  /// Whether any half can make `node` without having anything.
  bool isConstant(NodeId node) const {
    NodeId operation = graph.getOperation(node);
    return graph[operation].operatorClass == OperatorClass::Constant &&
           !graph[operation].isPinned && !graph.isArgument(operation) &&
           graph.getOperands(operation).empty();
  }

  const JointGraph &graph;
  const Split &split;
  /// By node.
  std::vector<char> isSaved;
};

} // namespace

//===----------------------------------------------------------------------===//
// Storages
//===----------------------------------------------------------------------===//

/// What the view `node` shows, if the backward can take the view again.
static NodeId getShownValue(const JointGraph &graph, NodeId node,
                            const Availability &halves) {
  NodeId operation = graph.getOperation(node);
  const JointNode &view = graph[operation];
  if (view.operatorClass != OperatorClass::View || view.isPinned ||
      view.tag == PartitionTag::MustBeForward ||
      view.policy == RecomputePolicy::MustSave || graph[node].storage < 0)
    return noNode;
  NodeId shown = noNode;
  for (NodeId operand : graph.getOperands(operation)) {
    if (shown == noNode && graph[operand].storage == graph[node].storage)
      shown = operand;
    else if (operand != shown && !halves.isInBackward(operand))
      return noNode;
  }
  return shown;
}

std::vector<NodeId> partition::getSavedStorages(const JointGraph &graph,
                                                const Split &split) {
  Availability halves(graph, split);
  // By node: what it shows, through all views that can be taken again.
  std::vector<NodeId> base(graph.size());
  for (NodeId node = 0; node < graph.size(); ++node) {
    NodeId shown = getShownValue(graph, node, halves);
    base[node] = shown == noNode ? node : base[shown];
  }
  auto canSave = [&](NodeId node) {
    return halves.isSavedValue(node) ||
           (graph[node].isSaveable &&
            graph[node].policy != RecomputePolicy::MustRecompute &&
            halves.isInForward(node) &&
            !halves.isComputedIn(split.inBackward, node));
  };
  std::vector<NodeId> saved;
  for (NodeId node : split.saved)
    saved.push_back(canSave(base[node]) ? base[node] : node);
  std::sort(saved.begin(), saved.end());
  saved.erase(std::unique(saved.begin(), saved.end()), saved.end());
  return saved;
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

/// Whether the forward can compute `node`, which is not in it now.
static bool canMoveToForward(const JointGraph &graph, NodeId node,
                             const Availability &halves) {
  if (graph[node].isPinned || !graph[node].isSaveable ||
      graph[node].policy == RecomputePolicy::MustRecompute ||
      graph[node].tag == PartitionTag::MustBeBackward)
    return false;
  ArrayView<NodeId> operands = graph.getOperands(node);
  return std::all_of(operands.begin(), operands.end(), [&](NodeId operand) {
    return halves.isInForward(operand);
  });
}

std::vector<NodeId> partition::getSavedDimensions(const JointGraph &graph,
                                                  const Split &split) {
  Availability halves(graph, split);
  std::vector<char> isBackwardResult(graph.size(), 0);
  for (NodeId result : graph.getBackwardResults())
    isBackwardResult[result] = 1;
  std::vector<NodeId> saved;
  for (NodeId node : split.saved) {
    ArrayView<NodeId> users = graph.getUsers(node);
    bool isOnlyMeasured =
        !isBackwardResult[node] &&
        std::all_of(users.begin(), users.end(), [&](NodeId user) {
          return !split.inBackward[user] ||
                 (graph[user].readsDimensions &&
                  canMoveToForward(graph, user, halves));
        });
    if (!isOnlyMeasured) {
      saved.push_back(node);
      continue;
    }
    std::copy_if(users.begin(), users.end(), std::back_inserter(saved),
                 [&](NodeId user) { return split.inBackward[user]; });
  }
  std::sort(saved.begin(), saved.end());
  saved.erase(std::unique(saved.begin(), saved.end()), saved.end());
  return saved;
}

PartitionResult<Split> partition::saveStorages(const JointGraph &graph,
                                               Split halves,
                                               bool allowCollectives) {
  for (auto *replace : {&getSavedDimensions, &getSavedStorages}) {
    std::vector<NodeId> saved = replace(graph, halves);
    if (saved == halves.saved)
      continue;
    PartitionResult<Split> replaced = split(graph, saved, allowCollectives);
    auto *found = std::get_if<Split>(&replaced);
    if (!found)
      return replaced;
    halves = std::move(*found);
  }
  return halves;
}

PartitionResult<Split>
partition::splitAtStorages(const JointGraph &graph,
                           const std::vector<NodeId> &saved,
                           bool allowCollectives) {
  PartitionResult<Split> result = split(graph, saved, allowCollectives);
  if (auto *halves = std::get_if<Split>(&result))
    return saveStorages(graph, std::move(*halves), allowCollectives);
  return result;
}
