//===- OrderImprovement.cpp -----------------------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/OrderImprovement.h"

#include "CommSched/Schedule/Simulator.h"

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

struct OrderCost {
  int64_t stepNs = 0;
  int64_t peakBytes = 0;

  bool operator<(const OrderCost &other) const {
    return stepNs != other.stepNs ? stepNs < other.stepNs
                                  : peakBytes < other.peakBytes;
  }
};

/// simulate() and simulateMemory() in one, without allocations: what thousands
/// of orders of one problem are judged by.
class OrderJudge {
public:
  OrderJudge(const Problem &problem, const Contention &contention);

  OrderCost judge(const Order &order);

private:
  int64_t simulatePlainly(const Order &order);
  int64_t simulatePeak(const Order &order);

  const Problem &problem;
  const Contention &contention;
  int64_t initialBytes = 0;
  std::vector<int64_t> endsNs;
  std::vector<int64_t> streamNs;
  std::vector<int32_t> numUsers;
  std::vector<int32_t> usersLeft;
};

} // namespace

OrderJudge::OrderJudge(const Problem &problem, const Contention &contention)
    : problem(problem), contention(contention), endsNs(problem.numNodes()),
      streamNs(problem.numStreams()), numUsers(problem.numBuffers()) {
  for (BufferId id = 0; id < problem.numBuffers(); ++id) {
    numUsers[id] = static_cast<int32_t>(problem.users(id).size());
    if (problem.buffer(id).producer == noNode)
      initialBytes += problem.buffer(id).bytes;
  }
}

int64_t OrderJudge::simulatePlainly(const Order &order) {
  std::fill(streamNs.begin(), streamNs.end(), 0);
  int64_t clockNs = 0;
  for (NodeId node : order)
    switch (problem.kind(node)) {
    case NodeKind::Compute:
      clockNs += problem.costNs(node);
      break;
    case NodeKind::Wait:
      clockNs = std::max(clockNs, endsNs[problem.startOf(node)]);
      break;
    case NodeKind::Start:
    case NodeKind::Blocking: {
      int64_t &stream = streamNs[problem.stream(node)];
      stream = std::max(clockNs, stream) + problem.costNs(node);
      endsNs[node] = stream;
      if (problem.kind(node) == NodeKind::Blocking)
        clockNs = stream;
      break;
    }
    }
  for (int64_t stream : streamNs)
    clockNs = std::max(clockNs, stream);
  return clockNs;
}

int64_t OrderJudge::simulatePeak(const Order &order) {
  usersLeft = numUsers;
  int64_t live = initialBytes, peak = initialBytes;
  for (NodeId node : order) {
    for (BufferId id : problem.buffersMadeBy(node))
      live += problem.buffer(id).bytes;
    peak = std::max(peak, live);
    for (BufferId id : problem.buffersMadeBy(node))
      if (problem.buffer(id).freed && numUsers[id] == 0)
        live -= problem.buffer(id).bytes;
    for (BufferId id : problem.buffersUsedBy(node))
      if (--usersLeft[id] == 0 && problem.buffer(id).freed)
        live -= problem.buffer(id).bytes;
  }
  return peak;
}

OrderCost OrderJudge::judge(const Order &order) {
  OrderCost cost;
  cost.stepNs = contention.isNone()
                    ? simulatePlainly(order)
                    : simulate(problem, order, contention)->stepNs;
  cost.peakBytes = simulatePeak(order);
  return cost;
}

namespace {

class OrderImprover {
public:
  OrderImprover(const Problem &problem, const Order &order,
                const OrderImprovementOptions &options)
      : problem(problem), options(options), judge(problem, options.contention),
        order(order), places(order.size()) {
    for (size_t place = 0; place < order.size(); ++place)
      places[order[place]] = static_cast<int32_t>(place);
  }

  Order run();

private:
  uint32_t draw(uint32_t bound);
  std::pair<int32_t, int32_t> findRange(NodeId node) const;
  void move(int32_t from, int32_t to);

  const Problem &problem;
  const OrderImprovementOptions &options;
  OrderJudge judge;
  Order order;
  std::vector<int32_t> places;
  uint64_t state = 0x9e3779b97f4a7c15;
};

} // namespace

/// A number below `bound`, from a linear congruential generator (D. E. Knuth,
/// MMIX): the same on every platform.
uint32_t OrderImprover::draw(uint32_t bound) {
  state = state * 6364136223846793005 + 1442695040888963407;
  return static_cast<uint32_t>(((state >> 32) * bound) >> 32);
}

/// The first and the last place that the operation can move to.
std::pair<int32_t, int32_t> OrderImprover::findRange(NodeId node) const {
  int32_t first = 0, last = static_cast<int32_t>(order.size()) - 1;
  for (DependenceEnd end : problem.predecessors(node))
    first = std::max(first, places[end.node] + 1);
  for (DependenceEnd end : problem.successors(node))
    last = std::min(last, places[end.node] - 1);
  for (BufferId id : problem.buffersUsedBy(node))
    if (NodeId producer = problem.buffer(id).producer;
        producer != noNode && producer != node)
      first = std::max(first, places[producer] + 1);
  for (BufferId id : problem.buffersMadeBy(node))
    for (NodeId user : problem.users(id))
      if (user != node)
        last = std::min(last, places[user] - 1);
  return {first, last};
}

void OrderImprover::move(int32_t from, int32_t to) {
  auto begin = order.begin();
  if (from < to)
    std::rotate(begin + from, begin + from + 1, begin + to + 1);
  else
    std::rotate(begin + to, begin + from, begin + from + 1);
  for (int32_t place = std::min(from, to); place <= std::max(from, to); ++place)
    places[order[place]] = place;
}

Order OrderImprover::run() {
  int64_t size = std::max<int64_t>(static_cast<int64_t>(order.size()), 1);
  // Simulating contention takes about so many times as long.
  int64_t effortPerMove = options.contention.isNone() ? size : 16 * size;
  constexpr int64_t maxMoves = 1 << 16;
  int64_t numMoves = std::min(options.effort / effortPerMove, maxMoves);
  OrderCost current = judge.judge(order), best = current;
  Order bestOrder = order;
  // To begin with, an eighth of what might be gained.
  int64_t firstThreshold = (current.stepNs - options.goalNs) / 8;
  for (int64_t done = 0; done < numMoves && best.stepNs > options.goalNs;
       ++done) {
    NodeId node = static_cast<NodeId>(draw(static_cast<uint32_t>(size)));
    auto [first, last] = findRange(node);
    if (last <= first)
      continue;
    int32_t from = places[node];
    // Any place of the range but its own.
    int32_t to =
        first + static_cast<int32_t>(draw(static_cast<uint32_t>(last - first)));
    to += to >= from;
    move(from, to);
    OrderCost cost = judge.judge(order);
    constexpr int64_t numPhases = 64;
    int64_t threshold = firstThreshold / numPhases *
                        (numPhases - 1 - done * numPhases / numMoves);
    if (cost.peakBytes > options.limitBytes ||
        cost.stepNs > current.stepNs + threshold) {
      move(to, from);
      continue;
    }
    current = cost;
    if (current < best) {
      best = current;
      bestOrder = order;
    }
  }
  return bestOrder;
}

Order schedule::improveOrder(const Problem &problem, const Order &order,
                             const OrderImprovementOptions &options) {
  return OrderImprover(problem, order, options).run();
}
