//===- CollectiveOrders.cpp - Search for orders of collectives ------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CollectiveOrders.h"

#include "../Model/ReadyTracker.h"

#include <algorithm>
#include <limits>
#include <queue>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

//===----------------------------------------------------------------------===//
// Schedules for an order of the collectives
//===----------------------------------------------------------------------===//

namespace {

/// Simulates a schedule whose streams run the collectives in a given order.
class StartSimulation {
public:
  StartSimulation(const Problem &problem, const Order &starts);

  std::optional<RankedOrder> run();

private:
  using Entry = std::pair<int64_t, NodeId>;
  using MinHeap =
      std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>>;

  void take(NodeId node);
  bool issue();
  void compute(NodeId node);

  const Problem &problem;
  /// By operation: the first position in the order of the starts that depends
  /// on it.
  std::vector<int32_t> ranks;
  ReadyTracker tracker;
  /// What is ready: by rank, and waits by the end of their collective.
  MinHeap computations, waits;
  /// By stream: its starts, and how many of them have run.
  std::vector<Order> starts;
  std::vector<size_t> numIssued;
  std::vector<int64_t> streamEndNs;
  std::vector<int64_t> endNs;
  int64_t nowNs = 0;
  Order order;
};

} // namespace

StartSimulation::StartSimulation(const Problem &problem, const Order &starts)
    : problem(problem),
      ranks(problem.numNodes(), std::numeric_limits<int32_t>::max()),
      tracker(problem), starts(problem.numStreams()),
      numIssued(problem.numStreams()), streamEndNs(problem.numStreams()),
      endNs(problem.numNodes()) {
  for (size_t i = 0; i < starts.size(); ++i) {
    this->starts[problem.stream(starts[i])].push_back(starts[i]);
    ranks[starts[i]] = static_cast<int32_t>(i);
  }
  const Order &topological = problem.topologicalOrder();
  for (size_t i = topological.size(); i-- > 0;) {
    NodeId node = topological[i];
    if (problem.kind(node) != NodeKind::Start)
      for (DependenceEnd end : problem.successors(node))
        ranks[node] = std::min(ranks[node], ranks[end.node]);
  }
}

void StartSimulation::take(NodeId node) {
  order.push_back(node);
  tracker.take(node, [&](NodeId ready) {
    if (problem.kind(ready) == NodeKind::Wait)
      waits.push({endNs[problem.startOf(ready)], ready});
    else if (problem.kind(ready) != NodeKind::Start)
      computations.push({ranks[ready], ready});
  });
}

/// Issues the next collective of each stream if it is ready. Returns whether
/// there was any.
bool StartSimulation::issue() {
  bool hasIssued = false;
  for (size_t stream = 0; stream < starts.size(); ++stream)
    while (numIssued[stream] < starts[stream].size() &&
           tracker.isReady(starts[stream][numIssued[stream]])) {
      NodeId node = starts[stream][numIssued[stream]++];
      streamEndNs[stream] =
          std::max(streamEndNs[stream], nowNs) + problem.costNs(node);
      endNs[node] = streamEndNs[stream];
      take(node);
      hasIssued = true;
    }
  return hasIssued;
}

void StartSimulation::compute(NodeId node) {
  computations.pop();
  if (problem.isCollective(node)) {
    int64_t &streamNs = streamEndNs[problem.stream(node)];
    nowNs = std::max(nowNs, streamNs);
    streamNs = nowNs + problem.costNs(node);
  }
  nowNs += problem.costNs(node);
  take(node);
}

std::optional<RankedOrder> StartSimulation::run() {
  for (NodeId node : tracker.listReady())
    if (problem.kind(node) != NodeKind::Start)
      computations.push({ranks[node], node});
  order.reserve(problem.numNodes());
  while (order.size() < static_cast<size_t>(problem.numNodes())) {
    if (!waits.empty() && waits.top().first <= nowNs) {
      NodeId wait = waits.top().second;
      waits.pop();
      take(wait);
    } else if (issue()) {
      continue;
    } else if (!computations.empty()) {
      compute(computations.top().second);
    } else if (!waits.empty()) {
      nowNs = waits.top().first;
    } else {
      return std::nullopt;
    }
  }
  for (int64_t streamNs : streamEndNs)
    nowNs = std::max(nowNs, streamNs);
  return RankedOrder{std::move(order), nowNs};
}

std::optional<RankedOrder> schedule::scheduleByStarts(const Problem &problem,
                                                      const Order &starts) {
  return StartSimulation(problem, starts).run();
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

Order schedule::listStarts(const Problem &problem, const Order &order) {
  Order starts;
  for (NodeId node : order)
    if (problem.kind(node) == NodeKind::Start)
      starts.push_back(node);
  return starts;
}

/// Moves the entry at `from` to `to`.
static void moveEntry(Order &order, size_t from, size_t to) {
  auto begin = order.begin();
  if (from < to)
    std::rotate(begin + from, begin + from + 1, begin + to + 1);
  else
    std::rotate(begin + to, begin + from, begin + from + 1);
}

void schedule::improveCollectives(const Problem &problem, int64_t goalNs,
                                  int64_t &effort, RankedOrder &best) {
  constexpr size_t maxDistance = 8;
  Order starts = listStarts(problem, best.order);
  // Keeps what the order of the starts gives if it is shorter.
  auto keepIfShorter = [&] {
    effort -= problem.numNodes();
    std::optional<RankedOrder> found = scheduleByStarts(problem, starts);
    if (!found || found->stepNs >= best.stepNs)
      return false;
    best = std::move(*found);
    return true;
  };
  keepIfShorter();
  bool hasImproved = true;
  while (hasImproved) {
    hasImproved = false;
    for (size_t from = 0; from < starts.size(); ++from) {
      size_t first = from - std::min(from, maxDistance);
      size_t last = std::min(from + maxDistance, starts.size() - 1);
      for (size_t to = first; to <= last; ++to) {
        if (to == from)
          continue;
        if (best.stepNs <= goalNs || effort <= 0)
          return;
        moveEntry(starts, from, to);
        if (keepIfShorter()) {
          hasImproved = true;
          break;
        }
        moveEntry(starts, to, from);
      }
    }
  }
}
