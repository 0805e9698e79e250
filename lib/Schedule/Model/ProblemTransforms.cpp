//===- ProblemTransforms.cpp - Changes of scheduling problems -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Model/ProblemTransforms.h"

#include "ReadyTracker.h"

#include <algorithm>
#include <functional>
#include <iterator>

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

/// Whether something that depends on the operation holds every buffer that it
/// holds.
static bool isHeldBySuccessors(const Problem &problem, NodeId node) {
  ArrayView<BufferId> used = problem.buffersUsedBy(node);
  ArrayView<DependenceEnd> after = problem.successors(node);
  return std::all_of(used.begin(), used.end(), [&](BufferId buffer) {
    return !problem.buffer(buffer).freed ||
           std::any_of(after.begin(), after.end(), [&](DependenceEnd end) {
             ArrayView<BufferId> held = problem.buffersUsedBy(end.node);
             return std::find(held.begin(), held.end(), buffer) != held.end();
           });
  });
}

static bool isFree(const Problem &problem, NodeId node) {
  if (problem.kind(node) != NodeKind::Compute || problem.costNs(node) > 0 ||
      problem.isExpensive(node) || !problem.buffersMadeBy(node).empty())
    return false;
  ArrayView<DependenceEnd> before = problem.predecessors(node);
  ArrayView<DependenceEnd> after = problem.successors(node);
  auto isPlain = [](DependenceEnd end) {
    return end.kind == DependenceKind::Data ||
           end.kind == DependenceKind::Memory;
  };
  return std::all_of(before.begin(), before.end(),
                     [&](DependenceEnd end) {
                       return isPlain(end) && end.node == before[0].node;
                     }) &&
         std::all_of(after.begin(), after.end(), isPlain) &&
         isHeldBySuccessors(problem, node);
}

Order schedule::leaveOutFree(const Problem &problem, const Order &order,
                             NodeId leastNodes) {
  if (problem.numNodes() < leastNodes)
    return order;
  Order kept;
  std::copy_if(order.begin(), order.end(), std::back_inserter(kept),
               [&](NodeId node) { return !isFree(problem, node); });
  return kept;
}

/// Adds the dependences of operations with a number, across others that have
/// none, to `result`.
static void addDependencesAcross(const Problem &problem,
                                 std::vector<NodeId> numbers, Problem &result) {
  for (NodeId node : problem.topologicalOrder()) {
    ArrayView<DependenceEnd> before = problem.predecessors(node);
    if (numbers[node] != noNode || before.empty())
      continue;
    // From here on that of what it depends on.
    numbers[node] = numbers[before[0].node];
    for (DependenceEnd end : problem.successors(node))
      if (numbers[node] != noNode && numbers[end.node] != noNode)
        result.addDependence(numbers[node], numbers[end.node], end.kind);
  }
}

Problem schedule::renumber(const Problem &problem, const Order &order) {
  std::vector<NodeId> numbers(problem.numNodes(), noNode);
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
      if (numbers[end.node] != noNode && (problem.startOf(end.node) != node ||
                                          end.kind != DependenceKind::Data))
        result.addDependence(numbers[node], numbers[end.node], end.kind);
  if (static_cast<NodeId>(order.size()) < problem.numNodes())
    addDependencesAcross(problem, numbers, result);
  for (BufferId id = 0; id < problem.numBuffers(); ++id) {
    const Buffer &buffer = problem.buffer(id);
    result.addBuffer(buffer.bytes,
                     buffer.producer == noNode ? noNode
                                               : numbers[buffer.producer],
                     buffer.freed);
    for (NodeId user : problem.users(id))
      if (numbers[user] != noNode)
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
