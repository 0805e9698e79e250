//===- ComputeOrders.cpp - Orders of the computation of a step ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ComputeOrders.h"

#include "../Model/ReadyTracker.h"
#include "CommSched/Schedule/Model/Verify.h"
#include "ListScheduling.h"

#include <algorithm>
#include <queue>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

Order schedule::getComputeOrder(const StepStructure &structure,
                                const Order &order) {
  Order computeOrder;
  for (NodeId node : order)
    if (structure.isInComputeOrder(node))
      computeOrder.push_back(node);
  return computeOrder;
}

Order schedule::getProgramComputeOrder(const StepStructure &structure) {
  return getComputeOrder(structure, structure.getProblem().topologicalOrder());
}

namespace {

/// A topological traversal of the operations of the compute order. All other
/// operations are taken as soon as they are ready.
class ComputeTraversal {
public:
  ComputeTraversal(const StepStructure &structure, TraversalDirection direction)
      : structure(structure), tracker(structure.getProblem(), direction) {}

  /// Calls `onReady` with each operation of the compute order that is ready.
  template <typename ReadyFn> void begin(ReadyFn onReady) {
    stack = tracker.listReady();
    takeOthers(onReady);
  }

  /// Takes an operation of the compute order, and calls `onReady` with those
  /// that become ready by it.
  template <typename ReadyFn> void take(NodeId node, ReadyFn onReady) {
    push(node);
    takeOthers(onReady);
  }

private:
  /// Takes an operation, and pushes those that become ready by it.
  void push(NodeId node) {
    tracker.take(node, [&](NodeId next) { stack.push_back(next); });
  }

  template <typename ReadyFn> void takeOthers(ReadyFn onReady) {
    while (!stack.empty()) {
      NodeId node = stack.back();
      stack.pop_back();
      if (structure.isInComputeOrder(node))
        onReady(node);
      else
        push(node);
    }
  }

  const StepStructure &structure;
  ReadyTracker tracker;
  std::vector<NodeId> stack;
};

} // namespace

//===----------------------------------------------------------------------===//
// Filling the end of the step
//===----------------------------------------------------------------------===//

namespace {

/// Builds a compute order from its last operation backwards (Lawler's rule). In
/// reversed time the tail of an operation is its release date.
class EndFiller {
public:
  EndFiller(const StepStructure &structure, int64_t overhangNs);

  Order run();

private:
  /// A key, and the position in the program.
  using Entry = std::pair<int64_t, int32_t>;

  void makeReady(NodeId node) {
    unreleased.push({tails[node], positions[node]});
  }
  int32_t popBest();

  const Problem &problem;
  const Order &program;
  int64_t overhangNs;
  std::vector<int64_t> tails;
  ComputeTraversal traversal;
  /// By operation: its position in the program.
  std::vector<int32_t> positions;
  /// The computation that follows the operation to be chosen.
  int64_t followingNs = 0;
  /// Operations that are ready and whose tail is too long as yet, the shortest
  /// tail first.
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> unreleased;
  /// The positions of all others that are ready, the last of the program first.
  std::priority_queue<int32_t> released;
};

} // namespace

EndFiller::EndFiller(const StepStructure &structure, int64_t overhangNs)
    : problem(structure.getProblem()), program(problem.topologicalOrder()),
      overhangNs(overhangNs), tails(computeTails(problem)),
      traversal(structure, TraversalDirection::Backward),
      positions(positionsOf(program)) {}

/// Takes the last operation of the program that is released, or if none is, the
/// one with the shortest tail. Returns its position in the program.
int32_t EndFiller::popBest() {
  while (!unreleased.empty() &&
         unreleased.top().first - overhangNs <= followingNs) {
    released.push(unreleased.top().second);
    unreleased.pop();
  }
  int32_t position;
  if (released.empty()) {
    position = unreleased.top().second;
    unreleased.pop();
  } else {
    position = released.top();
    released.pop();
  }
  return position;
}

Order EndFiller::run() {
  Order reversed;
  auto onReady = [&](NodeId node) { makeReady(node); };
  traversal.begin(onReady);
  while (!unreleased.empty() || !released.empty()) {
    NodeId node = program[popBest()];
    reversed.push_back(node);
    followingNs += problem.costNs(node);
    traversal.take(node, onReady);
  }
  std::reverse(reversed.begin(), reversed.end());
  return reversed;
}

Order schedule::fillEnd(const StepStructure &structure, int64_t overhangNs) {
  return EndFiller(structure, overhangNs).run();
}

//===----------------------------------------------------------------------===//
// Filling stalls
//===----------------------------------------------------------------------===//

namespace {

/// Moves computation between the starts and waits of exposed collectives.
class StallFiller {
public:
  StallFiller(const StepStructure &structure, const Order &order,
              const Timeline &timeline, int32_t maxDistance);

  Order run();

private:
  void fill(CollectiveId id, int32_t before, int32_t after, int64_t stallNs);
  bool isNeededBefore(NodeId node, int32_t position) const;
  bool needsFrom(NodeId node, int32_t position) const;
  Order sort() const;

  const StepStructure &structure;
  const Problem &problem;
  const Order &order;
  const Timeline &timeline;
  int32_t maxDistance;
  Order computeOrder;
  /// By operation: its position in the compute order of `order`, or -1.
  std::vector<int32_t> positions;
  /// By operation: the positions of the last of the compute order that it needs
  /// and of the first that needs it, be it through others.
  std::vector<int32_t> lastNeeded;
  std::vector<int32_t> firstNeeding;
  /// By operation: the position in `order` of the last wait that it is or
  /// depends on, directly or not; or -1.
  std::vector<int32_t> lastWaits;
  /// By operation: the key by which the new compute order is sorted.
  std::vector<int64_t> keys;
  std::vector<char> isMoved;
};

} // namespace

StallFiller::StallFiller(const StepStructure &structure, const Order &order,
                         const Timeline &timeline, int32_t maxDistance)
    : structure(structure), problem(structure.getProblem()), order(order),
      timeline(timeline), maxDistance(maxDistance),
      positions(problem.numNodes(), -1), lastNeeded(problem.numNodes(), -1),
      firstNeeding(problem.numNodes()), lastWaits(problem.numNodes(), -1),
      keys(problem.numNodes()), isMoved(problem.numNodes(), 0) {
  for (NodeId node : order)
    if (structure.isInComputeOrder(node)) {
      positions[node] = static_cast<int32_t>(computeOrder.size());
      computeOrder.push_back(node);
    }
  std::fill(firstNeeding.begin(), firstNeeding.end(),
            static_cast<int32_t>(computeOrder.size()));
  auto positionOr = [&](NodeId node, int32_t other) {
    return positions[node] >= 0 ? positions[node] : other;
  };
  for (size_t i = 0; i < order.size(); ++i) {
    NodeId node = order[i];
    for (DependenceEnd end : problem.predecessors(node)) {
      lastNeeded[node] = std::max(lastNeeded[node],
                                  positionOr(end.node, lastNeeded[end.node]));
      lastWaits[node] = std::max(lastWaits[node], lastWaits[end.node]);
    }
    if (problem.kind(node) == NodeKind::Wait)
      lastWaits[node] = static_cast<int32_t>(i);
  }
  for (size_t i = order.size(); i-- > 0;)
    for (DependenceEnd end : problem.successors(order[i]))
      firstNeeding[order[i]] = std::min(
          firstNeeding[order[i]], positionOr(end.node, firstNeeding[end.node]));
  // Keys in between are for operations that move.
  for (NodeId node : computeOrder)
    keys[node] = 4 * static_cast<int64_t>(positions[node]);
}

/// Whether an operation that stays at or before `position` needs the operation.
bool StallFiller::isNeededBefore(NodeId node, int32_t position) const {
  ArrayView<DependenceEnd> ends = problem.successors(node);
  return std::any_of(ends.begin(), ends.end(), [&](DependenceEnd end) {
    return positions[end.node] >= 0
               ? keys[end.node] <= 4 * static_cast<int64_t>(position)
               : firstNeeding[end.node] <= position;
  });
}

/// Whether the operation needs one that stays at or behind `position`.
bool StallFiller::needsFrom(NodeId node, int32_t position) const {
  ArrayView<DependenceEnd> ends = problem.predecessors(node);
  return std::any_of(ends.begin(), ends.end(), [&](DependenceEnd end) {
    return positions[end.node] >= 0
               ? keys[end.node] >= 4 * static_cast<int64_t>(position)
               : lastNeeded[end.node] >= position;
  });
}

/// Moves computation between the operation at `before`, the last one before the
/// start, and the one at `after`, the first one behind the wait.
void StallFiller::fill(CollectiveId id, int32_t before, int32_t after,
                       int64_t stallNs) {
  NodeId start = structure.collective(id).start;
  int32_t released = lastNeeded[start];
  for (NodeId node : structure.collective(id).preparation)
    released = std::max(released, lastNeeded[node]);
  auto isTaken = [&](NodeId node) {
    return isMoved[node] || problem.kind(node) != NodeKind::Compute ||
           problem.costNs(node) == 0;
  };
  // From before the start, beginning with the nearest, up to the operation that
  // releases the start. This makes the start earlier.
  int32_t first = std::max(before - maxDistance, 0);
  for (int32_t position = before; position >= first && stallNs > 0;
       --position) {
    NodeId node = computeOrder[position];
    if (position == released || isTaken(node) || isNeededBefore(node, before) ||
        problem.costNs(node) > 2 * stallNs)
      continue;
    isMoved[node] = 1;
    keys[node] = 4 * static_cast<int64_t>(before) + 1;
    stallNs -= problem.costNs(node);
  }
  int32_t wait = lastWaits[structure.collective(id).wait];
  int32_t end =
      std::min(after + maxDistance, static_cast<int32_t>(computeOrder.size()));
  for (int32_t position = after; position < end && stallNs > 0; ++position) {
    NodeId node = computeOrder[position];
    if (isTaken(node) || needsFrom(node, after) || lastWaits[node] >= wait ||
        problem.costNs(node) > 2 * stallNs)
      continue;
    isMoved[node] = 1;
    keys[node] = 4 * static_cast<int64_t>(after) - 1;
    stallNs -= problem.costNs(node);
  }
}

/// Returns the compute order sorted by keys, as far as dependences allow.
Order StallFiller::sort() const {
  using Entry = std::pair<int64_t, int32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  auto onReady = [&](NodeId node) {
    ready.push({keys[node], positions[node]});
  };
  ComputeTraversal traversal(structure, TraversalDirection::Forward);
  traversal.begin(onReady);
  Order sorted;
  while (!ready.empty()) {
    NodeId node = computeOrder[ready.top().second];
    ready.pop();
    sorted.push_back(node);
    traversal.take(node, onReady);
  }
  return sorted;
}

Order StallFiller::run() {
  // The positions of the starts in the compute order.
  std::vector<int32_t> positionsOfStarts(structure.numCollectives(), -1);
  int32_t position = -1;
  for (NodeId node : order) {
    if (positions[node] >= 0)
      position = positions[node];
    CollectiveId id = structure.collectiveOf(node);
    if (id == noCollective)
      continue;
    if (problem.kind(node) == NodeKind::Start)
      positionsOfStarts[id] = position;
    else if (timeline.exposedNs[node] > 0 && positionsOfStarts[id] >= 0)
      fill(id, positionsOfStarts[id], position + 1, timeline.exposedNs[node]);
  }
  return sort();
}

Order schedule::fillStalls(const StepStructure &structure, const Order &order,
                           const Timeline &timeline, int32_t maxDistance) {
  return StallFiller(structure, order, timeline, maxDistance).run();
}
