//===- IndependentCompute.cpp - What could run beside it ------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IndependentCompute.h"

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

static int64_t computeNs(const Problem &problem, NodeId node) {
  return problem.kind(node) == NodeKind::Compute ? problem.costNs(node) : 0;
}

/// By operation: computation that lies certainly beyond it, where `beyond` are
/// its neighbours there and `before` those on the other side. `order` has
/// operations behind those beyond them.
template <typename BeyondFn, typename BeforeFn>
static std::vector<int64_t> boundBeyond(const Problem &problem,
                                        const Order &order, BeyondFn beyond,
                                        BeforeFn before) {
  // Whom each operation passes on to: the neighbour on the longest way.
  std::vector<NodeId> heirs(problem.numNodes(), noNode);
  std::vector<int64_t> depths(problem.numNodes());
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    NodeId &heir = heirs[*it];
    for (DependenceEnd end : before(*it))
      if (heir == noNode || depths[end.node] > depths[heir])
        heir = end.node;
    depths[*it] = computeNs(problem, *it) + (heir == noNode ? 0 : depths[heir]);
  }
  std::vector<int64_t> passed(problem.numNodes());
  std::vector<int64_t> bounds(problem.numNodes());
  for (NodeId node : order) {
    int64_t &bound = bounds[node];
    bound = passed[node];
    for (DependenceEnd end : beyond(node))
      bound = std::max(bound, computeNs(problem, end.node) + bounds[end.node]);
    if (heirs[node] != noNode)
      passed[heirs[node]] += computeNs(problem, node) + passed[node];
  }
  return bounds;
}

std::vector<int64_t> schedule::boundIndependentCompute(const Problem &problem) {
  auto successors = [&](NodeId node) { return problem.successors(node); };
  auto predecessors = [&](NodeId node) { return problem.predecessors(node); };
  Order order = problem.topologicalOrder();
  std::vector<int64_t> before =
      boundBeyond(problem, order, predecessors, successors);
  std::reverse(order.begin(), order.end());
  std::vector<int64_t> behind =
      boundBeyond(problem, order, successors, predecessors);

  int64_t totalNs = 0;
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    totalNs += computeNs(problem, node);
  std::vector<int64_t> independent(problem.numNodes());
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    if (!problem.isCollective(node))
      continue;
    NodeId wait = problem.waitOf(node);
    independent[node] =
        totalNs - before[node] - behind[wait == noNode ? node : wait];
  }
  return independent;
}
