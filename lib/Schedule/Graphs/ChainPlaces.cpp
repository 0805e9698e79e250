//===- ChainPlaces.cpp - Operations beside a long chain -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Graphs/ChainPlaces.h"

#include <algorithm>
#include <utility>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

/// The members of the chain, from its beginning.
static std::vector<NodeId> findChain(const Problem &problem) {
  // Collectives, and operations, on the way to an operation.
  using Length = std::pair<int32_t, int32_t>;
  std::vector<Length> lengths(problem.numNodes());
  std::vector<NodeId> from(problem.numNodes(), noNode);
  NodeId end = noNode;
  for (NodeId node : problem.topologicalOrder()) {
    Length &length = lengths[node];
    length.first += problem.isCollective(node);
    ++length.second;
    if (end == noNode || length > lengths[end])
      end = node;
    for (DependenceEnd successor : problem.successors(node))
      if (successor.kind != DependenceKind::Order &&
          length > lengths[successor.node]) {
        lengths[successor.node] = length;
        from[successor.node] = node;
      }
  }
  std::vector<NodeId> chain;
  for (; end != noNode; end = from[end])
    chain.push_back(end);
  std::reverse(chain.begin(), chain.end());
  return chain;
}

ChainPlaces schedule::findChainPlaces(const Problem &problem) {
  std::vector<NodeId> chain = findChain(problem);
  auto length = static_cast<int32_t>(chain.size());
  ChainPlaces places;
  places.last.assign(problem.numNodes(), -1);
  places.next.assign(problem.numNodes(), length);
  for (int32_t index = 0; index < length; ++index)
    places.last[chain[index]] = places.next[chain[index]] = index;
  const Order &order = problem.topologicalOrder();
  for (NodeId node : order)
    for (DependenceEnd end : problem.successors(node))
      if (end.kind != DependenceKind::Order)
        places.last[end.node] =
            std::max(places.last[end.node], places.last[node]);
  for (auto it = order.rbegin(); it != order.rend(); ++it)
    for (DependenceEnd end : problem.predecessors(*it))
      if (end.kind != DependenceKind::Order)
        places.next[end.node] =
            std::min(places.next[end.node], places.next[*it]);
  return places;
}
