//===- ReferencePeakMemoryOrders.h - Reference of the sorts -----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sorts for peak memory literally by their descriptions: live, read and
// ready values are recomputed from the order so far by linear searches.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_SCHEDULE_REFERENCEPEAKMEMORYORDERS_H
#define COMMSCHED_UNITTESTS_SCHEDULE_REFERENCEPEAKMEMORYORDERS_H

#include "CommSched/Schedule/Inductor/PeakMemoryOrders.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace mlir::commsched::schedule::testing {

class ReferencePeakMemoryOrders {
public:
  explicit ReferencePeakMemoryOrders(const Problem &problem)
      : problem(problem) {}

  Order leastPeakMemoryFirst() {
    order.clear();
    while (true) {
      int64_t gap = peakSoFar() - live(order.size());
      NodeId next = firstReady([&](NodeId node) {
        int64_t made = madeBytes(node);
        return std::tuple(made > gap ? made : 0, made - freedBytes(node), node);
      });
      if (next == noNode)
        return order;
      order.push_back(next);
    }
  }

  Order breadthFirst() {
    order.clear();
    while (true) {
      NodeId next = firstReady([&](NodeId node) {
        std::set<size_t> positions;
        for (NodeId predecessor : predecessors(node))
          positions.insert(position(predecessor));
        return std::pair(
            std::vector<size_t>(positions.begin(), positions.end()), node);
      });
      if (next == noNode)
        return order;
      order.push_back(next);
    }
  }

  Order depthFirst() {
    order.clear();
    std::set<NodeId> all;
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      all.insert(node);
    visitSmallestFirst(all);
    return order;
  }

private:
  void visitSmallestFirst(const std::set<NodeId> &nodes) {
    std::set<std::pair<int64_t, NodeId>> sorted;
    for (NodeId node : nodes)
      sorted.insert({madeBytes(node) + readBytes(node), node});
    for (auto [bytes, node] : sorted) {
      if (hasRun(node, order.size()))
        continue;
      visitSmallestFirst(predecessors(node));
      order.push_back(node);
    }
  }

  template <typename KeyFn> NodeId firstReady(KeyFn keyOf) const {
    NodeId best = noNode;
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      if (isReady(node) && (best == noNode || keyOf(node) < keyOf(best)))
        best = node;
    return best;
  }

  size_t position(NodeId node) const {
    return std::find(order.begin(), order.end(), node) - order.begin();
  }
  bool hasRun(NodeId node, size_t end) const { return position(node) < end; }

  std::set<NodeId> predecessors(NodeId node) const {
    std::set<NodeId> nodes;
    for (DependenceEnd end : problem.predecessors(node))
      nodes.insert(end.node);
    return nodes;
  }
  bool isReady(NodeId node) const {
    for (NodeId predecessor : predecessors(node))
      if (!hasRun(predecessor, order.size()))
        return false;
    return !hasRun(node, order.size());
  }

  std::set<NodeId> readers(BufferId id) const {
    ArrayView<NodeId> users = problem.users(id);
    std::set<NodeId> nodes(users.begin(), users.end());
    nodes.erase(problem.buffer(id).producer);
    return nodes;
  }
  /// Whether the buffer is gone when the first `end` operations have run.
  bool isFreed(BufferId id, size_t end) const {
    const Buffer &buffer = problem.buffer(id);
    if (!buffer.freed || (buffer.producer == noNode && readers(id).empty()))
      return false;
    if (buffer.producer != noNode && !hasRun(buffer.producer, end))
      return false;
    for (NodeId reader : readers(id))
      if (!hasRun(reader, end))
        return false;
    return true;
  }

  /// Live bytes when the first `end` operations have run.
  int64_t live(size_t end) const {
    int64_t bytes = 0;
    for (BufferId id = 0; id < problem.numBuffers(); ++id) {
      const Buffer &buffer = problem.buffer(id);
      bool isMade = buffer.producer == noNode || hasRun(buffer.producer, end);
      bytes += isMade && !isFreed(id, end) ? buffer.bytes : 0;
    }
    return bytes;
  }
  int64_t peakSoFar() const {
    // What stays to the end will be live together at some time.
    int64_t peak = 0;
    for (BufferId id = 0; id < problem.numBuffers(); ++id)
      if (!problem.buffer(id).freed ||
          (problem.buffer(id).producer == noNode && problem.users(id).empty()))
        peak += problem.buffer(id).bytes;
    peak = std::max(peak, live(0));
    for (size_t end = 0; end < order.size(); ++end)
      peak = std::max(peak, live(end) + madeBytes(order[end]));
    return peak;
  }

  int64_t madeBytes(NodeId node) const {
    int64_t bytes = 0;
    for (BufferId id : problem.buffersMadeBy(node))
      bytes += problem.buffer(id).bytes;
    return bytes;
  }
  int64_t readBytes(NodeId node) const {
    int64_t bytes = 0;
    for (BufferId id = 0; id < problem.numBuffers(); ++id) {
      bool isKeptArgument =
          problem.buffer(id).producer == noNode && !problem.buffer(id).freed;
      if (!isKeptArgument && readers(id).count(node))
        bytes += problem.buffer(id).bytes;
    }
    return bytes;
  }
  /// What would go if `node` ran now.
  int64_t freedBytes(NodeId node) const {
    int64_t bytes = 0;
    for (BufferId id = 0; id < problem.numBuffers(); ++id) {
      const Buffer &buffer = problem.buffer(id);
      std::set<NodeId> open = readers(id);
      for (NodeId done : order)
        open.erase(done);
      bool isLast = open == std::set<NodeId>{node} ||
                    (open.empty() && buffer.producer == node);
      bytes += buffer.freed && isLast ? buffer.bytes : 0;
    }
    return bytes;
  }

  const Problem &problem;
  Order order;
};

} // namespace mlir::commsched::schedule::testing

#endif // COMMSCHED_UNITTESTS_SCHEDULE_REFERENCEPEAKMEMORYORDERS_H
