//===- ProblemTransforms.cpp - Changes of scheduling problems -------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Model/ProblemTransforms.h"

#include "ReadyTracker.h"

#include <algorithm>
#include <functional>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

std::vector<NodeId>
schedule::collectivesInProgramOrder(const Problem &problem) {
  std::vector<NodeId> collectives;
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    if (problem.isCollective(node))
      collectives.push_back(node);
  return collectives;
}

void schedule::addCollectiveOrder(Problem &problem,
                                  CollectiveOrderScope scope) {
  std::vector<NodeId> last;
  for (NodeId node : collectivesInProgramOrder(problem)) {
    StreamId stream =
        scope == CollectiveOrderScope::Global ? 0 : problem.stream(node);
    // The problem may not have been checked yet: finalize() will report this.
    if (stream < 0 || stream >= maxStreams)
      continue;
    if (static_cast<size_t>(stream) >= last.size())
      last.resize(stream + 1, noNode);
    if (last[stream] != noNode)
      problem.addDependence(last[stream], node, DependenceKind::Order);
    last[stream] = node;
  }
}

Problem schedule::renumber(const Problem &problem, const Order &order) {
  std::vector<NodeId> numbers(order.size(), noNode);
  Problem result;
  result.reserve(order.size(), problem.numDependences());
  result.reserveStreams(problem.numStreams());
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
      // addWait() has added the data dependence of a wait on its start.
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

Order schedule::completeOrder(const Problem &problem, const Order &wanted) {
  ReadyTracker ready(problem);
  Order order, open;
  auto issue = [&](NodeId wantedNode) {
    open.assign(1, wantedNode);
    while (!open.empty()) {
      NodeId node = open.back();
      if (ready.isTaken(node)) {
        open.pop_back();
        continue;
      }
      if (ready.isReady(node)) {
        open.pop_back();
        order.push_back(node);
        ready.take(node, [](NodeId) {});
        continue;
      }
      auto height = static_cast<ptrdiff_t>(open.size());
      for (DependenceEnd end : problem.predecessors(node))
        if (!ready.isTaken(end.node))
          open.push_back(end.node);
      // The first of the program is at the top.
      std::sort(open.begin() + height, open.end(), std::greater<>());
    }
  };
  for (NodeId node : wanted)
    issue(node);
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    issue(node);
  return order;
}
