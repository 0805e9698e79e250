//===- Verify.cpp - Check of the legality of orders -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Model/Verify.h"

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

static std::string at(int32_t position) {
  return " at position " + std::to_string(position);
}

Positions schedule::positionsOf(const Order &order) {
  Positions positions(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    positions[order[i]] = static_cast<int32_t>(i);
  return positions;
}

Result<Positions> schedule::invert(const Problem &problem, const Order &order) {
  if (!problem.check())
    return problem.check();
  NodeId numNodes = problem.numNodes();
  if (order.size() != static_cast<size_t>(numNodes))
    return Error{"the order has " + std::to_string(order.size()) +
                 " entries for a problem of " + std::to_string(numNodes) +
                 " nodes"};
  Positions positions(order.size(), -1);
  for (int32_t position = 0; position < numNodes; ++position) {
    NodeId node = order[position];
    if (node < 0 || node >= numNodes)
      return Error{"the order has node " + std::to_string(node) + at(position) +
                   "; the problem has " + std::to_string(numNodes) + " nodes"};
    if (positions[node] >= 0)
      return Error{"the order has " + problem.describe(node) +
                   at(positions[node]) + " and again" + at(position)};
    positions[node] = position;
  }
  return positions;
}

Status schedule::verify(const Problem &problem, const Order &order) {
  Result<Positions> inverse = invert(problem, order);
  if (!inverse)
    return Error{inverse.error()};
  const Positions &positions = *inverse;
  for (NodeId node : order)
    for (DependenceEnd predecessor : problem.predecessors(node))
      if (positions[predecessor.node] > positions[node])
        return Error{problem.describe(node) + at(positions[node]) +
                     " comes before " + problem.describe(predecessor.node) +
                     at(positions[predecessor.node]) +
                     ", on which it depends (" + toString(predecessor.kind) +
                     ")"};
  for (BufferId id = 0; id < problem.numBuffers(); ++id) {
    NodeId producer = problem.buffer(id).producer;
    if (producer == noNode)
      continue;
    for (NodeId user : problem.users(id))
      if (positions[user] < positions[producer])
        return Error{problem.describe(user) + at(positions[user]) +
                     " uses buffer " + std::to_string(id) + " before " +
                     problem.describe(producer) + at(positions[producer]) +
                     " makes it"};
  }
  return Status::success();
}
