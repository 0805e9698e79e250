//===- ListScheduling.cpp - List scheduling by ranks ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ListScheduling.h"

#include "../Model/ReadyTracker.h"
#include "../Model/RunState.h"
#include "CommSched/Schedule/Model/Verify.h"
#include "CommSched/Support/Unlimited.h"

#include <algorithm>
#include <queue>
#include <utility>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

/// Simulates list scheduling of a problem. With `startOrder` the streams take
/// its collectives in that order only, and as early as they can.
class ListSimulation {
public:
  ListSimulation(const Problem &problem, const std::vector<int64_t> &ranks,
                 const ListWindow &window, const Order *startOrder = nullptr)
      : problem(problem), ranks(ranks), window(window), tracker(problem),
        clocks(problem), starts(problem.numStreams()),
        isStartNext(problem.numNodes(), startOrder == nullptr),
        nextOnStream(problem.numNodes(), noNode),
        isEager(startOrder != nullptr) {
    std::vector<NodeId> next(problem.numStreams(), noNode);
    if (startOrder)
      for (size_t i = startOrder->size(); i-- > 0;) {
        NodeId start = (*startOrder)[i];
        nextOnStream[start] = std::exchange(next[problem.stream(start)], start);
      }
    for (NodeId start : next)
      if (start != noNode)
        isStartNext[start] = true;
  }

  /// std::nullopt if the order of the starts contradicts the dependences.
  std::optional<RankedOrder> run();

private:
  using Entry = std::pair<int64_t, NodeId>;
  using MinHeap =
      std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>>;

  bool isFixed(NodeId node) const {
    return !window.isFixed.empty() && window.isFixed[node];
  }
  void push(NodeId node);
  void admit(NodeId node);
  void take(NodeId node);
  bool mayIssue(NodeId start, int64_t untilNs) const;
  bool issue(int64_t untilNs);

  const Problem &problem;
  const std::vector<int64_t> &ranks;
  const ListWindow &window;
  ReadyTracker tracker;
  Clocks clocks;
  /// The first node that has not run.
  NodeId first = 0;
  /// What is ready, but not within the window, by the first node that has to be
  /// reached.
  MinHeap held;
  /// What is ready: by rank, and waits by the end of their collective.
  MinHeap computations, waits;
  std::vector<MinHeap> starts;
  /// By start: whether all before it on its stream have run, and the one that
  /// comes behind it.
  std::vector<char> isStartNext;
  std::vector<NodeId> nextOnStream;
  bool isEager;
  Order order;
};

} // namespace

void ListSimulation::push(NodeId node) {
  int64_t reached = isFixed(node) ? node : int64_t(node) - window.length;
  if (reached > first)
    held.push({reached, node});
  else
    admit(node);
}

void ListSimulation::admit(NodeId node) {
  if (problem.kind(node) == NodeKind::Start)
    starts[problem.stream(node)].push({ranks[node], node});
  else if (problem.kind(node) == NodeKind::Wait)
    waits.push({clocks.endNs(problem.startOf(node)), node});
  else
    computations.push({ranks[node], node});
}

void ListSimulation::take(NodeId node) {
  order.push_back(node);
  clocks.issue(node);
  tracker.take(node, [&](NodeId ready) { push(ready); });
  while (first < problem.numNodes() && tracker.isTaken(first))
    ++first;
  while (!held.empty() && held.top().first <= first) {
    NodeId reached = held.top().second;
    held.pop();
    admit(reached);
  }
}

/// Whether the stream of `start`, which is ready, takes it now.
bool ListSimulation::mayIssue(NodeId start, int64_t untilNs) const {
  int64_t streamNs = clocks.streamEndsNs()[problem.stream(start)];
  return isEager ? isStartNext[start]
                 : streamNs <= clocks.nowNs() || streamNs < untilNs ||
                       isFixed(start);
}

/// Issues what is ready to all streams that would be idle before `untilNs`: no
/// more, since what becomes ready until then may rank before it. Returns
/// whether there was anything.
bool ListSimulation::issue(int64_t untilNs) {
  bool hasIssued = false;
  for (MinHeap &ready : starts)
    while (!ready.empty() && mayIssue(ready.top().second, untilNs)) {
      NodeId start = ready.top().second;
      ready.pop();
      if (NodeId next = nextOnStream[start]; next != noNode)
        isStartNext[next] = true;
      take(start);
      hasIssued = true;
    }
  return hasIssued;
}

std::optional<RankedOrder> ListSimulation::run() {
  for (NodeId node : tracker.listReady())
    push(node);
  order.reserve(problem.numNodes());
  auto takeTop = [&](MinHeap &heap) {
    NodeId node = heap.top().second;
    heap.pop();
    take(node);
  };
  while (order.size() < static_cast<size_t>(problem.numNodes())) {
    if (!waits.empty() && waits.top().first <= clocks.nowNs())
      takeTop(waits);
    else if (!computations.empty()) {
      if (!issue(clocks.nowNs() + problem.costNs(computations.top().second)))
        takeTop(computations);
    } else if (!issue(waits.empty() ? unlimited : waits.top().first)) {
      if (waits.empty())
        return std::nullopt;
      takeTop(waits);
    }
  }
  return RankedOrder{std::move(order), clocks.stepNs()};
}

RankedOrder schedule::scheduleByRank(const Problem &problem,
                                     const std::vector<int64_t> &ranks,
                                     const ListWindow &window) {
  return *ListSimulation(problem, ranks, window).run();
}

std::optional<RankedOrder> schedule::scheduleByStarts(const Problem &problem,
                                                      const Order &starts) {
  // The first position in `starts` that depends on an operation.
  std::vector<int64_t> ranks(problem.numNodes(),
                             std::numeric_limits<int64_t>::max());
  for (size_t i = 0; i < starts.size(); ++i)
    ranks[starts[i]] = static_cast<int64_t>(i);
  const Order &topological = problem.topologicalOrder();
  for (size_t i = topological.size(); i-- > 0;) {
    NodeId node = topological[i];
    if (problem.kind(node) != NodeKind::Start)
      for (DependenceEnd end : problem.successors(node))
        ranks[node] = std::min(ranks[node], ranks[end.node]);
  }
  return ListSimulation(problem, ranks, {}, &starts).run();
}

std::vector<int64_t> schedule::rankByProgram(const Problem &problem) {
  Positions positions = positionsOf(problem.topologicalOrder());
  return {positions.begin(), positions.end()};
}

std::vector<int64_t> schedule::computeTails(const Problem &problem) {
  std::vector<int64_t> tails(problem.numNodes(), 0);
  const Order &order = problem.topologicalOrder();
  for (size_t i = order.size(); i-- > 0;) {
    NodeId node = order[i];
    for (DependenceEnd end : problem.successors(node)) {
      // Only its wait follows the end of a collective.
      if (problem.kind(node) == NodeKind::Start &&
          problem.waitOf(node) != end.node)
        continue;
      tails[node] =
          std::max(tails[node], problem.costNs(end.node) + tails[end.node]);
    }
  }
  return tails;
}

/// By operation: the collective that the program issues on a stream before what
/// the stream's next collective is computed from, or noNode. Of several streams
/// the last collective counts.
static std::vector<NodeId> findIssuedBefore(const Problem &problem) {
  const Order &order = problem.topologicalOrder();
  Positions places = positionsOf(order);
  std::vector<NodeId> issued(problem.numNodes(), noNode);
  std::vector<NodeId> last(problem.numStreams(), noNode);
  std::vector<NodeId> worklist;
  for (NodeId start : order) {
    if (problem.kind(start) != NodeKind::Start)
      continue;
    NodeId before = std::exchange(last[problem.stream(start)], start);
    if (before == noNode)
      continue;
    worklist = {start};
    while (!worklist.empty()) {
      NodeId node = worklist.back();
      worklist.pop_back();
      for (DependenceEnd end : problem.predecessors(node)) {
        NodeId known = issued[end.node];
        if (places[end.node] < places[before] || known == before ||
            (known != noNode && places[known] > places[before]))
          continue;
        issued[end.node] = before;
        worklist.push_back(end.node);
      }
    }
  }
  return issued;
}

std::vector<int64_t> schedule::rankByTail(const Problem &problem) {
  std::vector<int64_t> ranks(problem.numNodes());
  std::vector<NodeId> issued = findIssuedBefore(problem);
  const Order &order = problem.topologicalOrder();
  for (size_t i = order.size(); i-- > 0;) {
    NodeId node = order[i];
    for (DependenceEnd end : problem.successors(node))
      if (problem.kind(node) != NodeKind::Start ||
          problem.waitOf(node) == end.node)
        ranks[node] = std::min(ranks[node], ranks[end.node]);
    ranks[node] -= problem.costNs(node);
    if (NodeId before = issued[node]; before != noNode && before != node)
      ranks[before] = std::min(ranks[before], ranks[node]);
  }
  return ranks;
}
