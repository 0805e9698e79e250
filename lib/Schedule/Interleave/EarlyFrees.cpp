//===- EarlyFrees.cpp - Orders that free early ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Interleave/Interleaving.h"

#include "../Model/RunState.h"

#include <functional>
#include <queue>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

/// Issues the operations of an order, and in front of each the computation that
/// is ready and frees.
class EarlyFrees {
public:
  EarlyFrees(const Problem &problem, const Order &order);

  Order run();

private:
  bool frees(NodeId node) const;
  void offer(NodeId node);
  void offerUsers(BufferId id);
  void issue(NodeId node);

  const Problem &problem;
  const Order &order;
  /// By operation: its position in the order, or none if it is of another one.
  std::vector<size_t> positions;
  std::vector<char> isIssued;
  /// By operation: how many that it depends on have not been issued.
  std::vector<int32_t> missing;
  LiveBytes live;
  /// Positions of ready computation that frees.
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> freeing;
  Order result;
};

} // namespace

static constexpr size_t noPosition = static_cast<size_t>(-1);

EarlyFrees::EarlyFrees(const Problem &problem, const Order &order)
    : problem(problem), order(order), positions(problem.numNodes(), noPosition),
      isIssued(problem.numNodes(), 0), missing(problem.numNodes(), 0),
      live(problem) {
  for (size_t i = 0; i < order.size(); ++i)
    positions[order[i]] = i;
  for (NodeId node : order)
    for (DependenceEnd end : problem.predecessors(node))
      missing[node] += positions[end.node] != noPosition;
}

/// Whether less is live behind computation than in front of it; one that takes
/// no time has only not to raise it.
bool EarlyFrees::frees(NodeId node) const {
  if (problem.kind(node) != NodeKind::Compute)
    return false;
  int64_t bytes = 0;
  for (BufferId id : problem.buffersMadeBy(node))
    if (live.numHolds(id) > 1)
      bytes += problem.buffer(id).bytes;
  for (BufferId id : problem.buffersUsedBy(node))
    if (live.numHolds(id) == 1)
      bytes -= problem.buffer(id).bytes;
  return problem.costNs(node) == 0 ? bytes <= 0 : bytes < 0;
}

void EarlyFrees::offer(NodeId node) {
  if (positions[node] != noPosition && !isIssued[node] && missing[node] == 0 &&
      frees(node))
    freeing.push(positions[node]);
}

/// One operation fewer holds a buffer. The last one may free now.
void EarlyFrees::offerUsers(BufferId id) {
  if (live.numHolds(id) != 1)
    return;
  for (NodeId user : problem.users(id))
    offer(user);
}

void EarlyFrees::issue(NodeId node) {
  isIssued[node] = 1;
  result.push_back(node);
  live.issue(node);
  for (BufferId id : problem.buffersMadeBy(node))
    offerUsers(id);
  for (BufferId id : problem.buffersUsedBy(node))
    offerUsers(id);
  for (DependenceEnd end : problem.successors(node)) {
    --missing[end.node];
    offer(end.node);
  }
}

Order EarlyFrees::run() {
  result.reserve(order.size());
  for (NodeId node : order)
    offer(node);
  for (NodeId node : order) {
    while (!freeing.empty()) {
      NodeId early = order[freeing.top()];
      freeing.pop();
      if (!isIssued[early])
        issue(early);
    }
    if (!isIssued[node])
      issue(node);
  }
  return std::move(result);
}

Order schedule::freeEarly(const Problem &problem, const Order &order) {
  return EarlyFrees(problem, order).run();
}
