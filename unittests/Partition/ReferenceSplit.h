//===- ReferenceSplit.h - Split by its definition ---------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computes the halves literally by the contract of split(): every property of a
// node is derived from its users. The tests compare the fast split with it.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_PARTITION_REFERENCESPLIT_H
#define COMMSCHED_UNITTESTS_PARTITION_REFERENCESPLIT_H

#include "CommSched/Partition/Split.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

namespace mlir::commsched::partition::testing {

class ReferenceSplit {
public:
  /// Nothing if there is a conflict.
  static std::optional<Split> solve(const JointGraph &graph,
                                    const std::vector<NodeId> &saved,
                                    bool allowCollectives) {
    ReferenceSplit reference(graph, saved);
    for (NodeId node = 0; node < graph.size(); ++node)
      if (reference.isInConflict(node, allowCollectives))
        return std::nullopt;
    return reference.makeSplit();
  }

private:
  ReferenceSplit(const JointGraph &graph, const std::vector<NodeId> &saved)
      : graph(graph), saved(saved.begin(), saved.end()) {}

  static bool contains(const std::vector<NodeId> &nodes, NodeId node) {
    return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
  }
  template <typename Range, typename Predicate>
  static bool any(const Range &range, Predicate predicate) {
    return std::any_of(range.begin(), range.end(), predicate);
  }
  bool isOperation(NodeId node) const {
    return graph[node].kind == JointNodeKind::Operation;
  }
  /// The answer for `node`, computed once.
  bool ask(std::map<NodeId, bool> &answers, NodeId node,
           const std::function<bool()> &compute) {
    auto known = answers.find(node);
    if (known == answers.end())
      known = answers.emplace(node, compute()).first;
    return known->second;
  }

  //===--------------------------------------------------------------------===//
  // Where a node has to be
  //===--------------------------------------------------------------------===//

  bool isKeptInBackward(NodeId node) const {
    return graph[node].tag == PartitionTag::MustBeBackward ||
           (graph[node].isPinned && graph[node].tag == PartitionTag::Backward);
  }
  bool needsBackward(NodeId node) {
    return ask(needsBackwardAnswers, node, [&] {
      return isBackwardArgument(graph[node].kind) || isKeptInBackward(node) ||
             any(graph.getOperands(node),
                 [&](NodeId operand) { return needsBackward(operand); });
    });
  }
  /// What a wait waits for; noNode for other nodes.
  NodeId getStart(NodeId node) const {
    for (NodeId operand : graph.getOperands(node))
      if (graph[operand].operatorClass == OperatorClass::Collective &&
          isOperation(operand) && isOperation(node) &&
          !graph[operand].isSaveable)
        return operand;
    return noNode;
  }
  bool hasForwardEffect(NodeId node) {
    if (!isOperation(node))
      return false;
    if (NodeId start = getStart(node); start != noNode)
      if (hasForwardEffect(start))
        return true;
    return graph[node].tag == PartitionTag::MustBeForward ||
           (graph[node].isPinned && !needsBackward(node));
  }
  bool hasBackwardEffect(NodeId node) {
    if (!isOperation(node))
      return false;
    if (NodeId start = getStart(node); start != noNode)
      if (hasBackwardEffect(start))
        return true;
    return isKeptInBackward(node) ||
           (graph[node].isPinned && needsBackward(node));
  }

  //===--------------------------------------------------------------------===//
  // Where a node is
  //===--------------------------------------------------------------------===//

  bool isNeededInBackward(NodeId node) {
    return contains(graph.getBackwardResults(), node) ||
           any(graph.getUsers(node),
               [&](NodeId user) { return isInBackward(user); });
  }
  bool isHandedOver(NodeId node) {
    return isNeededInBackward(node) &&
           (graph[node].kind == JointNodeKind::Primal || saved.count(node));
  }
  bool isInBackward(NodeId node) {
    return ask(backwardAnswers, node, [&] {
      if (graph.isArgument(node))
        return false;
      return hasBackwardEffect(node) ||
             (isNeededInBackward(node) && !isHandedOver(node));
    });
  }
  bool isInForward(NodeId node) {
    return ask(forwardAnswers, node, [&] {
      return contains(graph.getForwardResults(), node) ||
             hasForwardEffect(node) || isHandedOver(node) ||
             any(graph.getUsers(node),
                 [&](NodeId user) { return isInForward(user); }) ||
             any(graph.getMemoryOrder(), [&](JointGraph::Edge edge) {
               return edge.from == node && isInForward(edge.to);
             });
    });
  }

  //===--------------------------------------------------------------------===//
  // What follows
  //===--------------------------------------------------------------------===//

  bool mayRepeat(NodeId node, bool allowCollectives) const {
    const JointNode &data = graph[node];
    if (data.isPinned || data.operatorClass == OperatorClass::Random ||
        data.tag == PartitionTag::MustBeForward ||
        data.policy == RecomputePolicy::MustSave)
      return false;
    return data.operatorClass != OperatorClass::Collective ||
           allowCollectives ||
           data.policy == RecomputePolicy::PreferRecompute ||
           data.policy == RecomputePolicy::MustRecompute;
  }
  bool isInConflict(NodeId node, bool allowCollectives) {
    NodeId operation = graph.getOperation(node);
    if (isHandedOver(node) &&
        (!graph[node].isSaveable ||
         (!graph.isArgument(node) &&
          graph[node].policy != RecomputePolicy::MustSave &&
          graph[operation].policy == RecomputePolicy::MustRecompute)))
      return true;
    if (isInForward(node) &&
        (isBackwardArgument(graph[node].kind) || isKeptInBackward(node)))
      return true;
    if (isOperation(node) && isInForward(node) && isInBackward(node) &&
        !mayRepeat(node, allowCollectives))
      return true;
    NodeId start = getStart(node);
    return start != noNode && ((isInForward(start) && !isInForward(node)) ||
                               (isInBackward(start) && !isInBackward(node)));
  }
  Split makeSplit() {
    Split split;
    for (NodeId node = 0; node < graph.size(); ++node) {
      if (isHandedOver(node))
        split.saved.push_back(node);
      NodeId operation = graph.getOperation(node);
      bool isArgument = graph.isArgument(node);
      split.inForward.push_back(!isArgument && isInForward(operation));
      split.inBackward.push_back(!isArgument && isInBackward(operation));
    }
    return split;
  }

  const JointGraph &graph;
  std::set<NodeId> saved;
  std::map<NodeId, bool> needsBackwardAnswers;
  std::map<NodeId, bool> backwardAnswers;
  std::map<NodeId, bool> forwardAnswers;
};

} // namespace mlir::commsched::partition::testing

#endif // COMMSCHED_UNITTESTS_PARTITION_REFERENCESPLIT_H
