//===- ReferenceBans.h - Bans by exhaustive search --------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recomputation bans that depend on paths, by a separate search from every
// node. This takes quadratic time and follows the rules literally; the library
// computes the same bans in one pass over the graph.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_PARTITION_REFERENCEBANS_H
#define COMMSCHED_UNITTESTS_PARTITION_REFERENCEBANS_H

#include "CommSched/Partition/MinCut.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace mlir::commsched::partition::reference {

inline bool areNodesFusible(const JointGraph &graph, NodeId producer,
                            NodeId consumer) {
  auto classOf = [&](NodeId node) {
    return graph[node].kind == JointNodeKind::Result
               ? OperatorClass::DataMovement
               : graph[node].operatorClass;
  };
  return areFusible(classOf(producer), classOf(consumer));
}

inline bool isViewOperation(const JointGraph &graph, NodeId node) {
  return graph[node].kind == JointNodeKind::Operation &&
         graph[node].operatorClass == OperatorClass::View;
}

/// Whether an operation that the forward does not need reads `node`, or a view
/// of it, and cannot be computed together with what it reads.
inline bool isMaterializedBackward(const JointGraph &graph,
                                   const Classification &classes, NodeId node) {
  std::set<NodeId> open = {node};
  std::set<NodeId> seen = open;
  while (!open.empty()) {
    NodeId current = *open.begin();
    open.erase(open.begin());
    for (NodeId user : graph.getUsers(current)) {
      if (!classes.requiredForward[user] &&
          !areNodesFusible(graph, current, user))
        return true;
      if (isViewOperation(graph, user) && seen.insert(user).second)
        open.insert(user);
    }
  }
  return false;
}

/// The users of `node` in the forward that are fusible with it, but behind the
/// first operation that ends a chain of fusible operations from any of its
/// users, if that is not behind the last user.
inline std::vector<NodeId> findUsesFarApart(const JointGraph &graph,
                                            const Classification &classes,
                                            NodeId node) {
  int32_t range = -1;
  using Entry = std::tuple<int32_t, NodeId, bool>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue;
  std::set<Entry> seen;
  for (NodeId user : graph.getUsers(node))
    if (classes.requiredForward[user]) {
      range = std::max(range, classes.forwardOrder[user]);
      queue.push({classes.forwardOrder[user], user, true});
    }
  int32_t firstUnfusible = range;
  while (!queue.empty()) {
    auto [order, current, isFusible] = queue.top();
    queue.pop();
    if (!isFusible) {
      firstUnfusible = order;
      break;
    }
    for (NodeId user : graph.getUsers(current)) {
      if (!classes.requiredForward[user] || classes.forwardOrder[user] > range)
        continue;
      Entry entry = {classes.forwardOrder[user], user,
                     areNodesFusible(graph, current, user)};
      if (seen.insert(entry).second)
        queue.push(entry);
    }
  }
  std::vector<NodeId> far;
  for (NodeId user : graph.getUsers(node))
    if (classes.requiredForward[user] &&
        classes.forwardOrder[user] > firstUnfusible &&
        areNodesFusible(graph, node, user))
      far.push_back(user);
  return far;
}

} // namespace mlir::commsched::partition::reference

#endif // COMMSCHED_UNITTESTS_PARTITION_REFERENCEBANS_H
