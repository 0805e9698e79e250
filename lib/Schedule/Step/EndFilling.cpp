//===- EndFilling.cpp -----------------------------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/BackboneOrders.h"

#include <algorithm>
#include <queue>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

/// By operation: the longest chain that follows on it, in nanoseconds; on a
/// Start, that follows on its end.
static std::vector<int64_t> computeTails(const Problem &problem) {
  std::vector<int64_t> tails(problem.numNodes(), 0);
  const Order &order = problem.topologicalOrder();
  for (size_t i = order.size(); i-- > 0;) {
    NodeId node = order[i];
    for (DependenceEnd end : problem.successors(node)) {
      // Only its wait follows on the end of a collective.
      if (problem.kind(node) == NodeKind::Start &&
          problem.waitOf(node) != end.node)
        continue;
      tails[node] =
          std::max(tails[node], problem.costNs(end.node) + tails[end.node]);
    }
  }
  return tails;
}

namespace {

/// Takes operations from the last backwards.
class EndFiller {
public:
  EndFiller(const StepStructure &structure, int64_t overhangNs)
      : structure(structure), problem(structure.getProblem()),
        overhangNs(overhangNs), tails(computeTails(problem)),
        numFollowing(problem.numNodes()), places(problem.numNodes()) {
    const Order &order = problem.topologicalOrder();
    for (size_t i = 0; i < order.size(); ++i)
      places[order[i]] = static_cast<int32_t>(i);
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      numFollowing[node] =
          static_cast<int32_t>(problem.successors(node).size());
  }

  Order run();

private:
  using Entry = std::pair<int64_t, NodeId>;

  void addLast(NodeId node);
  void take(NodeId node);

  const StepStructure &structure;
  const Problem &problem;
  int64_t overhangNs;
  std::vector<int64_t> tails;
  /// By operation: how many dependences on it come from what is left.
  std::vector<int32_t> numFollowing;
  std::vector<int32_t> places;
  /// The computation that was taken.
  int64_t takenNs = 0;
  /// What can be taken and has too long a tail, the shortest first; and what
  /// has not, the last of the program first.
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> tooEarly;
  std::priority_queue<Entry> ready;
  Order reversed;
};

} // namespace

/// `node` follows nothing that is left. What is not of the backbone goes at
/// once.
void EndFiller::addLast(NodeId node) {
  std::vector<NodeId> stack(1, node);
  while (!stack.empty()) {
    NodeId top = stack.back();
    stack.pop_back();
    if (structure.isBackbone(top)) {
      tooEarly.push({tails[top], places[top]});
      continue;
    }
    for (DependenceEnd end : problem.predecessors(top))
      if (--numFollowing[end.node] == 0)
        stack.push_back(end.node);
  }
}

void EndFiller::take(NodeId node) {
  reversed.push_back(node);
  takenNs += problem.costNs(node);
  for (DependenceEnd end : problem.predecessors(node))
    if (--numFollowing[end.node] == 0)
      addLast(end.node);
}

Order EndFiller::run() {
  const Order &order = problem.topologicalOrder();
  std::vector<NodeId> last;
  for (NodeId node : order)
    if (numFollowing[node] == 0)
      last.push_back(node);
  for (NodeId node : last)
    addLast(node);
  while (!tooEarly.empty() || !ready.empty()) {
    while (!tooEarly.empty() && tooEarly.top().first - overhangNs <= takenNs) {
      ready.push({tooEarly.top().second, tooEarly.top().second});
      tooEarly.pop();
    }
    if (ready.empty()) {
      NodeId next = order[tooEarly.top().second];
      tooEarly.pop();
      take(next);
      continue;
    }
    NodeId next = order[ready.top().second];
    ready.pop();
    take(next);
  }
  std::reverse(reversed.begin(), reversed.end());
  return reversed;
}

Order schedule::fillEnd(const StepStructure &structure, int64_t overhangNs) {
  return EndFiller(structure, overhangNs).run();
}
