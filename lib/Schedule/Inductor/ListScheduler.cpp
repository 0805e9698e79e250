//===- ListScheduler.cpp - List scheduling by scores ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Inductor/ListScheduler.h"

#include "../Model/ReadyTracker.h"
#include "CommSched/Schedule/Model/Verify.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

/// The scores of all operations, replaced by their rank: 0 is the best. Ranks
/// are unique because the last component of the score is.
struct Ranking {
  std::vector<int32_t> rankOf;
  Order nodeAt;
};

/// One run of the scheduler.
///
/// The ready operations are in two heaps, one of which holds exactly those that
/// may be put beside a collective. So both questions, which is the best of all
/// and which is the best to put beside, are answered by the tops.
class ListSchedulerRun {
public:
  ListSchedulerRun(const Problem &problem, const ListSchedulerOptions &options);
  Order takeOrder();

private:
  using Heap =
      std::priority_queue<int32_t, std::vector<int32_t>, std::greater<int32_t>>;

  void makeReady(NodeId node);
  NodeId popFrom(Heap &heap);
  NodeId popBest();
  void schedule(NodeId node);
  void coverByCompute(int64_t costNs);

  const Problem &problem;
  bool reorderForOverlap;
  Ranking ranking;
  ReadyTracker tracker;
  Heap readyCompute;
  Heap readyComm;
  Order order;
};

} // namespace

/// By operation: the smallest index of a collective that it is or leads to; the
/// number of collectives if there is none.
static std::vector<int32_t> computeBlockedCollective(const Problem &problem,
                                                     int32_t &numCollectives) {
  numCollectives = 0;
  std::vector<int32_t> own(problem.numNodes(), -1);
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    if (problem.isCollective(node))
      own[node] = numCollectives++;
  std::vector<int32_t> blocked(problem.numNodes());
  const Order &topological = problem.topologicalOrder();
  for (auto it = topological.rbegin(); it != topological.rend(); ++it) {
    int32_t smallest = own[*it] >= 0 ? own[*it] : numCollectives;
    for (DependenceEnd successor : problem.successors(*it))
      smallest = std::min(smallest, blocked[successor.node]);
    blocked[*it] = smallest;
  }
  return blocked;
}

static Ranking rank(const Problem &problem,
                    const ListSchedulerOptions &options) {
  size_t numNodes = problem.numNodes();
  int32_t numCollectives = 0;
  std::vector<int32_t> blocked;
  if (options.raiseComms)
    blocked = computeBlockedCollective(problem, numCollectives);
  // The first two components as one small number; rows of a Csr are then sorted
  // by it, and within a row by the third.
  auto keyOf = [&](size_t node) {
    bool sunk = options.sinkWaits &&
                problem.kind(static_cast<NodeId>(node)) == NodeKind::Wait;
    return 2 * (options.raiseComms ? blocked[node] : 0) + (sunk ? 1 : 0);
  };
  size_t numKeys = 2 * (static_cast<size_t>(numCollectives) + 1);
  Csr<NodeId> rows;
  rows.build(numKeys, numNodes, keyOf,
             [](size_t node) { return static_cast<NodeId>(node); });
  Ranking ranking;
  ranking.rankOf.resize(numNodes);
  ranking.nodeAt.reserve(numNodes);
  for (size_t key = 0; key < numKeys; ++key) {
    for (NodeId node : rows[static_cast<int32_t>(key)]) {
      ranking.rankOf[node] = static_cast<int32_t>(ranking.nodeAt.size());
      ranking.nodeAt.push_back(node);
    }
  }
  return ranking;
}

ListSchedulerRun::ListSchedulerRun(const Problem &problem,
                                   const ListSchedulerOptions &options)
    : problem(problem), reorderForOverlap(options.reorderForOverlap),
      ranking(rank(problem, options)), tracker(problem) {
  order.reserve(problem.numNodes());
  for (NodeId node : tracker.listReady())
    makeReady(node);
}

void ListSchedulerRun::makeReady(NodeId node) {
  Heap &heap =
      problem.kind(node) == NodeKind::Compute ? readyCompute : readyComm;
  heap.push(ranking.rankOf[node]);
}

NodeId ListSchedulerRun::popFrom(Heap &heap) {
  NodeId node = ranking.nodeAt[heap.top()];
  heap.pop();
  return node;
}

NodeId ListSchedulerRun::popBest() {
  if (readyCompute.empty())
    return popFrom(readyComm);
  if (readyComm.empty() || readyCompute.top() < readyComm.top())
    return popFrom(readyCompute);
  return popFrom(readyComm);
}

void ListSchedulerRun::schedule(NodeId node) {
  order.push_back(node);
  tracker.take(node, [&](NodeId next) { makeReady(next); });
}

void ListSchedulerRun::coverByCompute(int64_t costNs) {
  while (costNs > 0 && !readyCompute.empty()) {
    NodeId node = popFrom(readyCompute);
    schedule(node);
    costNs -= problem.costNs(node);
  }
}

Order ListSchedulerRun::takeOrder() {
  while (!readyCompute.empty() || !readyComm.empty()) {
    NodeId node = popBest();
    schedule(node);
    if (reorderForOverlap && problem.isCollective(node))
      coverByCompute(problem.costNs(node));
  }
  return std::move(order);
}

Result<Order> ListScheduler::run(const Problem &problem) const {
  if (!problem.check())
    return problem.check();
  Order order = ListSchedulerRun(problem, options).takeOrder();
  if (Status status = verify(problem, order); !status)
    return Error{"the list scheduler made an invalid order: " + status.error()};
  return order;
}

/// The end with the smallest key, then the smallest kind.
template <typename KeyFn>
static std::optional<DependenceEnd> minimum(ArrayView<DependenceEnd> ends,
                                            KeyFn keyOf) {
  std::optional<DependenceEnd> best;
  for (DependenceEnd end : ends)
    if (!best || std::pair(keyOf(end.node), end.kind) <
                     std::pair(keyOf(best->node), best->kind))
      best = end;
  return best;
}

std::optional<DependenceEnd> schedule::limitEarlier(const Problem &problem,
                                                    const Positions &positions,
                                                    NodeId node) {
  return minimum(problem.predecessors(node),
                 [&](NodeId other) { return -positions[other]; });
}

std::optional<DependenceEnd> schedule::limitLater(const Problem &problem,
                                                  const Positions &positions,
                                                  NodeId node) {
  return minimum(problem.successors(node),
                 [&](NodeId other) { return positions[other]; });
}
