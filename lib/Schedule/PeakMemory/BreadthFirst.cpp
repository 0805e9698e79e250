//===- BreadthFirst.cpp - First come, first served --------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/PeakMemoryOrders.h"
#include "CommSched/Schedule/Verify.h"

#include <algorithm>
#include <set>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

/// One run of the sort.
class BreadthFirst {
public:
  explicit BreadthFirst(const Problem &problem);
  Order takeOrder();

private:
  /// Where a node's list lies in `lists`.
  struct List {
    size_t begin = 0, end = 0;
  };

  /// Orders nodes by their lists, then by index.
  struct Earlier {
    const BreadthFirst *run;
    bool operator()(NodeId a, NodeId b) const;
  };

  void makeReady(NodeId node);

  const Problem &problem;
  std::vector<int32_t> missing;
  Positions positions;
  std::vector<List> listOf;
  std::vector<int32_t> lists;
  /// A tree rather than a heap: it compares where a node is put in, never where
  /// one is taken out. So a node's list is walked at most log(nodes) times, and
  /// no long list is walked again and again while it waits near the top.
  std::set<NodeId, Earlier> ready;
};

} // namespace

bool BreadthFirst::Earlier::operator()(NodeId a, NodeId b) const {
  const int32_t *lists = run->lists.data();
  const int32_t *endA = lists + run->listOf[a].end;
  const int32_t *endB = lists + run->listOf[b].end;
  auto [itA, itB] = std::mismatch(lists + run->listOf[a].begin, endA,
                                  lists + run->listOf[b].begin, endB);
  if (itA != endA && itB != endB)
    return *itA < *itB;
  if (itA != endA || itB != endB)
    return itA == endA;
  return a < b;
}

BreadthFirst::BreadthFirst(const Problem &problem)
    : problem(problem), missing(problem.numNodes()),
      positions(problem.numNodes(), -1), listOf(problem.numNodes()),
      ready(Earlier{this}) {
  lists.reserve(problem.numDependences());
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    missing[node] = static_cast<int32_t>(problem.predecessors(node).size());
    if (missing[node] == 0)
      makeReady(node);
  }
}

void BreadthFirst::makeReady(NodeId node) {
  size_t begin = lists.size();
  for (DependenceEnd predecessor : problem.predecessors(node))
    lists.push_back(positions[predecessor.node]);
  auto first = lists.begin() + static_cast<ptrdiff_t>(begin);
  std::sort(first, lists.end());
  lists.erase(std::unique(first, lists.end()), lists.end());
  listOf[node] = {begin, lists.size()};
  ready.insert(node);
}

Order BreadthFirst::takeOrder() {
  Order order;
  order.reserve(problem.numNodes());
  while (!ready.empty()) {
    NodeId node = *ready.begin();
    ready.erase(ready.begin());
    positions[node] = static_cast<int32_t>(order.size());
    order.push_back(node);
    for (DependenceEnd successor : problem.successors(node))
      if (--missing[successor.node] == 0)
        makeReady(successor.node);
  }
  return order;
}

Result<Order> schedule::sortBreadthFirst(const Problem &problem) {
  if (problem.check())
    return Error{*problem.check()};
  Order order = BreadthFirst(problem).takeOrder();
  if (OptionalError error = verify(problem, order))
    return Error{"the breadth-first sort made an invalid order: " + *error};
  return order;
}
