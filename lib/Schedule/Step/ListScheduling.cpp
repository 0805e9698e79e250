//===- ListScheduling.cpp - List scheduling by ranks ----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ListScheduling.h"

#include "../Model/ReadyTracker.h"
#include "CommSched/Support/Unlimited.h"

#include <algorithm>
#include <queue>
#include <utility>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

/// Simulates list scheduling of a problem.
class ListSimulation {
public:
  ListSimulation(const Problem &problem, const std::vector<int64_t> &ranks,
                 const ListWindow &window)
      : problem(problem), ranks(ranks), window(window), tracker(problem),
        starts(problem.numStreams()), streamEndNs(problem.numStreams()),
        endNs(problem.numNodes()) {}

  RankedOrder run();

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
  bool issue(int64_t untilNs);
  void compute(NodeId node);

  const Problem &problem;
  const std::vector<int64_t> &ranks;
  const ListWindow &window;
  ReadyTracker tracker;
  /// The first node that has not run.
  NodeId first = 0;
  /// What is ready, but not within the window, by the first node that has to be
  /// reached.
  MinHeap held;
  /// What is ready: by rank, and waits by the end of their collective.
  MinHeap computations, waits;
  std::vector<MinHeap> starts;
  std::vector<int64_t> streamEndNs;
  std::vector<int64_t> endNs;
  int64_t nowNs = 0;
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
    waits.push({endNs[problem.startOf(node)], node});
  else
    computations.push({ranks[node], node});
}

void ListSimulation::take(NodeId node) {
  order.push_back(node);
  tracker.take(node, [&](NodeId ready) { push(ready); });
  while (first < problem.numNodes() && tracker.isTaken(first))
    ++first;
  while (!held.empty() && held.top().first <= first) {
    NodeId reached = held.top().second;
    held.pop();
    admit(reached);
  }
}

/// Issues what is ready to all streams that would be idle before `untilNs`: no
/// more, since what becomes ready until then may rank before it. Returns
/// whether there was anything.
bool ListSimulation::issue(int64_t untilNs) {
  bool hasIssued = false;
  for (size_t stream = 0; stream < starts.size(); ++stream) {
    int64_t &streamNs = streamEndNs[stream];
    while (!starts[stream].empty() &&
           (streamNs <= nowNs || streamNs < untilNs ||
            isFixed(starts[stream].top().second))) {
      NodeId node = starts[stream].top().second;
      starts[stream].pop();
      streamNs = std::max(streamNs, nowNs) + problem.costNs(node);
      endNs[node] = streamNs;
      take(node);
      hasIssued = true;
    }
  }
  return hasIssued;
}

void ListSimulation::compute(NodeId node) {
  computations.pop();
  if (problem.isCollective(node)) {
    int64_t &streamNs = streamEndNs[problem.stream(node)];
    nowNs = std::max(nowNs, streamNs);
    streamNs = nowNs + problem.costNs(node);
  }
  nowNs += problem.costNs(node);
  take(node);
}

RankedOrder ListSimulation::run() {
  for (NodeId node : tracker.listReady())
    push(node);
  while (order.size() < static_cast<size_t>(problem.numNodes())) {
    if (!waits.empty() && waits.top().first <= nowNs) {
      NodeId wait = waits.top().second;
      waits.pop();
      take(wait);
    } else if (!computations.empty()) {
      NodeId node = computations.top().second;
      if (!issue(nowNs + problem.costNs(node)))
        compute(node);
    } else if (!issue(waits.empty() ? unlimited : waits.top().first)) {
      nowNs = waits.top().first;
    }
  }
  for (int64_t streamNs : streamEndNs)
    nowNs = std::max(nowNs, streamNs);
  return {std::move(order), nowNs};
}

RankedOrder schedule::scheduleByRank(const Problem &problem,
                                     const std::vector<int64_t> &ranks,
                                     const ListWindow &window) {
  return ListSimulation(problem, ranks, window).run();
}

std::vector<int64_t> schedule::rankByProgram(const Problem &problem) {
  std::vector<int64_t> ranks(problem.numNodes());
  const Order &order = problem.topologicalOrder();
  for (size_t i = 0; i < order.size(); ++i)
    ranks[order[i]] = static_cast<int64_t>(i);
  return ranks;
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
  std::vector<int32_t> places(problem.numNodes());
  for (size_t i = 0; i < order.size(); ++i)
    places[order[i]] = static_cast<int32_t>(i);
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
