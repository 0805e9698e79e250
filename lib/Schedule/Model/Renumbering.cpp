//===- Renumbering.cpp ----------------------------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Renumbering.h"

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

Problem schedule::renumber(const Problem &problem, const Order &order) {
  std::vector<NodeId> numbers(order.size(), noNode);
  Problem result;
  result.reserve(order.size(), problem.numDependences());
  for (NodeId node : order) {
    numbers[node] =
        problem.kind(node) == NodeKind::Wait
            ? result.addWait(numbers[problem.startOf(node)])
            : result.addNode(problem.kind(node), problem.costNs(node),
                             problem.stream(node));
    if (problem.isExpensive(node))
      result.setExpensive(numbers[node]);
  }
  for (NodeId node : order)
    for (DependenceEnd end : problem.successors(node))
      // addWait() has said it already.
      if (problem.startOf(end.node) != node || end.kind != DependenceKind::Data)
        result.addDependence(numbers[node], numbers[end.node], end.kind);
  for (BufferId id = 0; id < problem.numBuffers(); ++id) {
    const Buffer &buffer = problem.buffer(id);
    result.addBuffer(buffer.bytes,
                     buffer.producer == noNode ? noNode
                                               : numbers[buffer.producer],
                     buffer.freed);
    for (NodeId user : problem.users(id))
      result.addUse(id, numbers[user]);
  }
  result.finalize();
  return result;
}
