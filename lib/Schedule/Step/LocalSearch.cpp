//===- LocalSearch.cpp - Orders with single operations moved --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "SmallSteps.h"

#include "../Model/RunState.h"
#include "CommSched/Schedule/Model/Simulator.h"
#include "CommSched/Schedule/Model/Verify.h"

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

/// Simulates thousands of orders of one problem, each of which has one
/// operation at another position.
class OrderImprover {
public:
  OrderImprover(const Problem &problem, const Order &order,
                const SearchOptions &options);

  Order run();

private:
  uint32_t draw(uint32_t bound);
  std::pair<int32_t, int32_t> findRange(NodeId node) const;
  void move(int32_t from, int32_t to);
  void findFreeing(BufferId id);
  OrderCost judge();

  const Problem &problem;
  const SearchOptions &options;
  Order order;
  std::vector<int32_t> positions;
  uint64_t state = 0x9e3779b97f4a7c15;

  // The live bytes, by the rules of simulateMemory().
  int64_t initialBytes = 0;
  /// By operation: what it allocates, and what it is the last to hold.
  std::vector<int64_t> allocatedBytes, freedBytes;
  /// By buffer: the operation that frees it, or noNode.
  std::vector<NodeId> freeing;

  const Clocks initialClocks;
  Clocks clocks;
};

} // namespace

OrderImprover::OrderImprover(const Problem &problem, const Order &order,
                             const SearchOptions &options)
    : problem(problem), options(options), order(order),
      positions(positionsOf(order)), allocatedBytes(problem.numNodes()),
      freedBytes(problem.numNodes()), freeing(problem.numBuffers(), noNode),
      initialClocks(problem), clocks(problem) {
  for (BufferId id = 0; id < problem.numBuffers(); ++id) {
    const Buffer &buffer = problem.buffer(id);
    (buffer.producer == noNode ? initialBytes
                               : allocatedBytes[buffer.producer]) +=
        buffer.bytes;
    findFreeing(id);
  }
}

/// Finds the operation that frees a buffer, after one that uses it has moved.
void OrderImprover::findFreeing(BufferId id) {
  const Buffer &buffer = problem.buffer(id);
  NodeId last = buffer.producer;
  if (!buffer.freed)
    return;
  for (NodeId user : problem.users(id))
    if (last == noNode || positions[user] > positions[last])
      last = user;
  if (last == freeing[id])
    return;
  if (freeing[id] != noNode)
    freedBytes[freeing[id]] -= buffer.bytes;
  freedBytes[last] += buffer.bytes;
  freeing[id] = last;
}

OrderCost OrderImprover::judge() {
  clocks = initialClocks;
  int64_t live = initialBytes;
  OrderCost cost;
  cost.peakBytes = live;
  for (NodeId node : order) {
    clocks.issue(node);
    live += allocatedBytes[node];
    cost.peakBytes = std::max(cost.peakBytes, live);
    live -= freedBytes[node];
  }
  cost.stepNs = options.contention.isNone()
                    ? clocks.stepNs()
                    : simulate(problem, order, options.contention)->stepNs;
  return cost;
}

/// Returns a number below `bound`, from a linear congruential generator (D. E.
/// Knuth, MMIX): the same on every platform.
uint32_t OrderImprover::draw(uint32_t bound) {
  state = state * 6364136223846793005 + 1442695040888963407;
  return static_cast<uint32_t>(((state >> 32) * bound) >> 32);
}

/// Returns the first and the last position that the operation can move to.
std::pair<int32_t, int32_t> OrderImprover::findRange(NodeId node) const {
  int32_t first = 0, last = static_cast<int32_t>(order.size()) - 1;
  for (DependenceEnd end : problem.predecessors(node))
    first = std::max(first, positions[end.node] + 1);
  for (DependenceEnd end : problem.successors(node))
    last = std::min(last, positions[end.node] - 1);
  for (BufferId id : problem.buffersUsedBy(node))
    if (NodeId producer = problem.buffer(id).producer;
        producer != noNode && producer != node)
      first = std::max(first, positions[producer] + 1);
  for (BufferId id : problem.buffersMadeBy(node))
    for (NodeId user : problem.users(id))
      if (user != node)
        last = std::min(last, positions[user] - 1);
  return {first, last};
}

void OrderImprover::move(int32_t from, int32_t to) {
  auto begin = order.begin();
  if (from < to)
    std::rotate(begin + from, begin + from + 1, begin + to + 1);
  else
    std::rotate(begin + to, begin + from, begin + from + 1);
  for (int32_t i = std::min(from, to); i <= std::max(from, to); ++i)
    positions[order[i]] = i;
  for (BufferId id : problem.buffersUsedBy(order[to]))
    findFreeing(id);
}

Order OrderImprover::run() {
  int64_t size = std::max<int64_t>(static_cast<int64_t>(order.size()), 1);
  // Simulating contention takes about 16 times as long.
  int64_t effortPerMove = options.contention.isNone() ? size : 16 * size;
  constexpr int64_t maxMoves = 1 << 16;
  int64_t numMoves = std::min(options.effort / effortPerMove, maxMoves);
  OrderCost current = judge(), best = current;
  Order bestOrder = order;
  // At first, an eighth of what can be gained at most.
  int64_t firstThreshold = (current.stepNs - options.goalNs) / 8;
  for (int64_t done = 0; done < numMoves && best.stepNs > options.goalNs;
       ++done) {
    NodeId node = static_cast<NodeId>(draw(static_cast<uint32_t>(size)));
    auto [first, last] = findRange(node);
    if (last <= first)
      continue;
    int32_t from = positions[node];
    // Any position of the range but its own.
    int32_t to =
        first + static_cast<int32_t>(draw(static_cast<uint32_t>(last - first)));
    to += to >= from;
    move(from, to);
    OrderCost cost = judge();
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
                             const SearchOptions &options) {
  return OrderImprover(problem, order, options).run();
}
