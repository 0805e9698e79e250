//===- LatencyHidingGraph.h - Graph of XLA's scheduler ----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Properties of operations for the latency-hiding scheduler that do not change
// while it runs.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_SCHEDULE_LATENCYHIDINGGRAPH_H
#define COMMSCHED_UNITTESTS_SCHEDULE_LATENCYHIDINGGRAPH_H

#include "CommSched/Schedule/Model/Problem.h"

#include <algorithm>

namespace mlir::commsched::schedule::testing {

struct LatencyHidingGraph {
  explicit LatencyHidingGraph(const Problem &problem);

  const Problem &problem;
  /// Each predecessor once, including the producers of buffers.
  Csr<NodeId> predecessors;
  /// Each buffer that an operation uses and another one makes, once.
  Csr<BufferId> uses;
  /// By operation: how many have it as a predecessor, and the exclusive or of
  /// their indices: once only one of them is left, that is its index.
  std::vector<int32_t> numSuccessors;
  std::vector<NodeId> successorBits;
  /// By operation: the longest path to it, in time of collectives and in hops.
  std::vector<int64_t> asyncDepth;
  std::vector<int32_t> depth;
  /// By operation: whether a wait is among its predecessors.
  std::vector<bool> followsWait;

  /// Of the edge between the two.
  int64_t latencyNs(NodeId from, NodeId to) const {
    return problem.kind(from) == NodeKind::Start && problem.waitOf(from) == to
               ? problem.costNs(from)
               : 0;
  }
};

inline LatencyHidingGraph::LatencyHidingGraph(const Problem &problem)
    : problem(problem), numSuccessors(problem.numNodes()),
      successorBits(problem.numNodes()), asyncDepth(problem.numNodes()),
      depth(problem.numNodes()), followsWait(problem.numNodes()) {
  std::vector<std::pair<NodeId, NodeId>> edges;
  std::vector<std::pair<NodeId, BufferId>> usedBuffers;
  std::vector<NodeId> lastSeenBy(problem.numNodes(), noNode);
  std::vector<NodeId> lastUsedBy(problem.numBuffers(), noNode);
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    auto add = [&](NodeId from) {
      if (from == noNode || from == node || lastSeenBy[from] == node)
        return;
      lastSeenBy[from] = node;
      edges.emplace_back(from, node);
      ++numSuccessors[from];
      successorBits[from] ^= node;
      followsWait[node] =
          followsWait[node] || problem.kind(from) == NodeKind::Wait;
    };
    for (DependenceEnd end : problem.predecessors(node))
      add(end.node);
    for (BufferId id : problem.buffersUsedBy(node)) {
      NodeId producer = problem.buffer(id).producer;
      if (producer == node || lastUsedBy[id] == node)
        continue;
      lastUsedBy[id] = node;
      usedBuffers.emplace_back(node, id);
      add(producer);
    }
  }
  predecessors.build(
      problem.numNodes(), edges.size(),
      [&](size_t i) { return edges[i].second; },
      [&](size_t i) { return edges[i].first; });
  uses.build(
      problem.numNodes(), usedBuffers.size(),
      [&](size_t i) { return usedBuffers[i].first; },
      [&](size_t i) { return usedBuffers[i].second; });
  for (NodeId node : problem.topologicalOrder())
    for (DependenceEnd end : problem.predecessors(node)) {
      asyncDepth[node] = std::max(
          asyncDepth[node], asyncDepth[end.node] + latencyNs(end.node, node));
      depth[node] = std::max(depth[node], depth[end.node] + 1);
    }
}

} // namespace mlir::commsched::schedule::testing

#endif // COMMSCHED_UNITTESTS_SCHEDULE_LATENCYHIDINGGRAPH_H
