//===- AutogradOrder.cpp - Order of recomputed operations -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Inductor/AutogradOrder.h"

#include "CommSched/Schedule/Model/Verify.h"

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

/// By operation: its turn if it has one of its own, else more than all turns.
static std::vector<int32_t> takeTurns(const Problem &problem,
                                      NodeId firstBackward,
                                      const std::vector<NodeId> &keptInFront) {
  auto numKept = static_cast<int32_t>(keptInFront.size());
  int32_t numTurns = numKept + problem.numNodes() - firstBackward;
  std::vector<int32_t> turns(problem.numNodes(), numTurns);
  for (int32_t turn = 0; turn < numKept; ++turn)
    turns[keptInFront[turn]] = turn;
  for (NodeId node = firstBackward; node < problem.numNodes(); ++node)
    turns[node] = numKept + node - firstBackward;
  return turns;
}

Result<Order>
schedule::mimicAutogradOrder(const Problem &problem, NodeId firstBackward,
                             const std::vector<NodeId> &keptInFront) {
  if (Status status = verify(problem, problem.programOrder()); !status)
    return Error{"the program is not a legal order: " + status.error()};
  NodeId numNodes = problem.numNodes();
  if (firstBackward < 0 || firstBackward > numNodes)
    return Error{"the backward cannot begin with node " +
                 std::to_string(firstBackward) + " of " +
                 std::to_string(numNodes)};
  NodeId previous = noNode;
  for (NodeId node : keptInFront) {
    if (node <= previous || node >= firstBackward)
      return Error{"node " + std::to_string(node) +
                   " cannot be kept in front of node " +
                   std::to_string(firstBackward) + " and behind node " +
                   std::to_string(previous)};
    previous = node;
  }

  // An operation comes with the first turn of those that need it, all of which
  // stand behind it: one sweep from the end knows that turn. What comes with
  // one turn keeps the order of the program.
  std::vector<int32_t> turns = takeTurns(problem, firstBackward, keptInFront);
  for (NodeId node = numNodes - 1; node >= 0; --node) {
    auto bring = [&](NodeId needed) {
      if (needed != noNode)
        turns[needed] = std::min(turns[needed], turns[node]);
    };
    for (DependenceEnd end : problem.predecessors(node))
      bring(end.node);
    for (BufferId buffer : problem.buffersUsedBy(node))
      bring(problem.buffer(buffer).producer);
  }
  int32_t numTurns =
      static_cast<int32_t>(keptInFront.size()) + numNodes - firstBackward;
  Csr<NodeId> byTurn;
  byTurn.build(
      static_cast<size_t>(numTurns) + 1, static_cast<size_t>(numNodes),
      [&](size_t node) { return turns[node]; },
      [](size_t node) { return static_cast<NodeId>(node); });
  Order order;
  order.reserve(static_cast<size_t>(numNodes));
  for (int32_t turn = 0; turn <= numTurns; ++turn)
    order.insert(order.end(), byTurn[turn].begin(), byTurn[turn].end());
  if (Status status = verify(problem, order); !status)
    return status;
  return order;
}
