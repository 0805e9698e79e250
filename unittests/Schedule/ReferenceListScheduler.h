//===- ReferenceListScheduler.h - Reference of list scheduling --*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The list scheduler literally by its description: scores from all ancestors of
// every collective, and linear searches over all operations in every step.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_SCHEDULE_REFERENCELISTSCHEDULER_H
#define COMMSCHED_UNITTESTS_SCHEDULE_REFERENCELISTSCHEDULER_H

#include "CommSched/Schedule/Inductor/ListScheduler.h"

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>

namespace mlir::commsched::schedule::testing {

class ReferenceListScheduler {
public:
  ReferenceListScheduler(const Problem &problem, ListSchedulerOptions options)
      : problem(problem), options(options),
        collectiveOf(problem.numNodes(), std::numeric_limits<int32_t>::max()) {
    int32_t index = 0;
    for (NodeId node = 0; node < problem.numNodes(); ++node) {
      if (!problem.isCollective(node))
        continue;
      for (NodeId ancestor : ancestorsAndSelf(node))
        collectiveOf[ancestor] = std::min(collectiveOf[ancestor], index);
      ++index;
    }
  }

  Order run() {
    while (true) {
      NodeId node = bestReady(/*onlyCompute=*/false);
      if (node == noNode)
        return order;
      order.push_back(node);
      if (!options.reorderForOverlap || !problem.isCollective(node))
        continue;
      int64_t remaining = problem.costNs(node);
      while (remaining > 0) {
        NodeId beside = bestReady(/*onlyCompute=*/true);
        if (beside == noNode)
          break;
        order.push_back(beside);
        remaining -= problem.costNs(beside);
      }
    }
  }

private:
  using Score = std::tuple<int32_t, int32_t, NodeId>;

  std::set<NodeId> ancestorsAndSelf(NodeId node) const {
    std::set<NodeId> found = {node};
    std::vector<NodeId> open = {node};
    while (!open.empty()) {
      NodeId next = open.back();
      open.pop_back();
      for (DependenceEnd end : problem.predecessors(next))
        if (found.insert(end.node).second)
          open.push_back(end.node);
    }
    return found;
  }

  bool isScheduled(NodeId node) const {
    return std::find(order.begin(), order.end(), node) != order.end();
  }

  bool isReady(NodeId node) const {
    for (DependenceEnd end : problem.predecessors(node))
      if (!isScheduled(end.node))
        return false;
    return !isScheduled(node);
  }

  Score score(NodeId node) const {
    bool isWait = problem.kind(node) == NodeKind::Wait;
    return {options.raiseComms ? collectiveOf[node] : 0,
            options.sinkWaits && isWait ? 1 : 0, node};
  }

  NodeId bestReady(bool onlyCompute) const {
    NodeId best = noNode;
    for (NodeId node = 0; node < problem.numNodes(); ++node) {
      if (!isReady(node) ||
          (onlyCompute && problem.kind(node) != NodeKind::Compute))
        continue;
      if (best == noNode || score(node) < score(best))
        best = node;
    }
    return best;
  }

  const Problem &problem;
  ListSchedulerOptions options;
  std::vector<int32_t> collectiveOf;
  Order order;
};

} // namespace mlir::commsched::schedule::testing

#endif // COMMSCHED_UNITTESTS_SCHEDULE_REFERENCELISTSCHEDULER_H
