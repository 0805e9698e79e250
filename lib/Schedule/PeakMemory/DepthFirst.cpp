//===- DepthFirst.cpp - Small nodes and what they need first ----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Model/BufferReads.h"
#include "CommSched/Schedule/PeakMemoryOrders.h"
#include "CommSched/Schedule/Verify.h"

#include <algorithm>
#include <numeric>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

/// All nodes by the bytes that they make and read, then by index.
static Order sortBySize(const Problem &problem) {
  BufferReads reads(problem);
  std::vector<int64_t> bytes = getMadeBytes(problem);
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    for (BufferId buffer : reads.buffers[node])
      bytes[node] += problem.buffer(buffer).bytes;
  Order sorted(problem.numNodes());
  std::iota(sorted.begin(), sorted.end(), 0);
  std::sort(sorted.begin(), sorted.end(), [&](NodeId a, NodeId b) {
    return bytes[a] != bytes[b] ? bytes[a] < bytes[b] : a < b;
  });
  return sorted;
}

/// Every node's predecessors, those that come last in `sorted` first.
static Csr<NodeId> sortPredecessors(const Problem &problem,
                                    const Order &sorted) {
  // Filling the rows in the order in which their entries are wanted sorts all
  // of them at once.
  std::vector<Dependence> dependences;
  dependences.reserve(problem.numDependences());
  for (auto it = sorted.rbegin(); it != sorted.rend(); ++it)
    for (DependenceEnd successor : problem.successors(*it))
      dependences.push_back({*it, successor.node, successor.kind});
  Csr<NodeId> rows;
  rows.build(
      sorted.size(), dependences.size(),
      [&](size_t i) { return dependences[i].to; },
      [&](size_t i) { return dependences[i].from; });
  return rows;
}

Result<Order> schedule::sortDepthFirst(const Problem &problem) {
  if (problem.check())
    return Error{*problem.check()};
  Order sorted = sortBySize(problem);
  Csr<NodeId> predecessors = sortPredecessors(problem, sorted);

  Order order;
  order.reserve(sorted.size());
  std::vector<bool> entered(sorted.size());
  // What is still to be done, the next on top: n enters node n, and ~n leaves
  // it. No recursion, since chains may be as long as the program.
  std::vector<NodeId> open;
  for (NodeId root : sorted) {
    open.push_back(root);
    while (!open.empty()) {
      NodeId node = open.back();
      open.pop_back();
      if (node < 0) {
        order.push_back(~node);
        continue;
      }
      if (entered[node])
        continue;
      entered[node] = true;
      open.push_back(~node);
      for (NodeId predecessor : predecessors[node])
        open.push_back(predecessor);
    }
  }
  if (OptionalError error = verify(problem, order))
    return Error{"the depth-first sort made an invalid order: " + *error};
  return order;
}
