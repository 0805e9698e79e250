//===- StallFilling.cpp ---------------------------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/BackboneOrders.h"

#include <algorithm>
#include <queue>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

/// Finds what to move beside the collectives that are waited for.
class StallFiller {
public:
  StallFiller(const StepStructure &structure, const Order &order,
              const Timeline &timeline, int32_t maxDistance);

  Order run();

private:
  void fill(CollectiveId id, int32_t before, int32_t after, int64_t stallNs);
  Order sort() const;

  const StepStructure &structure;
  const Problem &problem;
  const Order &order;
  const Timeline &timeline;
  int32_t maxDistance;
  Order backbone;
  /// By operation: its place in the backbone, or -1.
  std::vector<int32_t> places;
  /// By operation: the places of the last of the backbone that it needs and of
  /// the first that needs it, be it through others.
  std::vector<int32_t> lastNeeded;
  std::vector<int32_t> firstNeeding;
  /// By operation: where in the order the last wait is that it is or needs, be
  /// it through others; or -1.
  std::vector<int32_t> lastWaits;
  /// By operation: what the new backbone is sorted by.
  std::vector<int64_t> keys;
  std::vector<char> isMoved;
};

} // namespace

StallFiller::StallFiller(const StepStructure &structure, const Order &order,
                         const Timeline &timeline, int32_t maxDistance)
    : structure(structure), problem(structure.getProblem()), order(order),
      timeline(timeline), maxDistance(maxDistance),
      places(problem.numNodes(), -1), lastNeeded(problem.numNodes(), -1),
      firstNeeding(problem.numNodes()), lastWaits(problem.numNodes(), -1),
      keys(problem.numNodes()), isMoved(problem.numNodes(), 0) {
  for (NodeId node : order)
    if (structure.isBackbone(node)) {
      places[node] = static_cast<int32_t>(backbone.size());
      backbone.push_back(node);
    }
  std::fill(firstNeeding.begin(), firstNeeding.end(),
            static_cast<int32_t>(backbone.size()));
  auto placeOr = [&](NodeId node, int32_t other) {
    return places[node] >= 0 ? places[node] : other;
  };
  for (size_t i = 0; i < order.size(); ++i) {
    NodeId node = order[i];
    for (DependenceEnd end : problem.predecessors(node)) {
      lastNeeded[node] =
          std::max(lastNeeded[node], placeOr(end.node, lastNeeded[end.node]));
      lastWaits[node] = std::max(lastWaits[node], lastWaits[end.node]);
    }
    if (problem.kind(node) == NodeKind::Wait)
      lastWaits[node] = static_cast<int32_t>(i);
  }
  for (size_t i = order.size(); i-- > 0;)
    for (DependenceEnd end : problem.successors(order[i]))
      firstNeeding[order[i]] = std::min(
          firstNeeding[order[i]], placeOr(end.node, firstNeeding[end.node]));
  // Room for what moves between two places.
  for (NodeId node : backbone)
    keys[node] = 4 * static_cast<int64_t>(places[node]);
}

/// Moves computation between the operation at `before`, the last before the
/// start, and the one at `after`, the first behind the wait.
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
  // What was in front, from the nearest on. It makes the start earlier, as long
  // as that is what the start waits for.
  int32_t first = std::max(before - maxDistance, 0);
  for (int32_t place = before; place >= first && stallNs > 0; --place) {
    NodeId node = backbone[place];
    if (place == released || isTaken(node) || firstNeeding[node] <= before ||
        problem.costNs(node) > 2 * stallNs)
      continue;
    isMoved[node] = 1;
    keys[node] = 4 * static_cast<int64_t>(before) + 1;
    stallNs -= problem.costNs(node);
  }
  int32_t wait = lastWaits[structure.collective(id).wait];
  int32_t end =
      std::min(after + maxDistance, static_cast<int32_t>(backbone.size()));
  for (int32_t place = after; place < end && stallNs > 0; ++place) {
    NodeId node = backbone[place];
    if (isTaken(node) || lastNeeded[node] >= after || lastWaits[node] >= wait ||
        problem.costNs(node) > 2 * stallNs)
      continue;
    isMoved[node] = 1;
    keys[node] = 4 * static_cast<int64_t>(after) - 1;
    stallNs -= problem.costNs(node);
  }
}

/// The backbone by keys, as far as dependences allow.
Order StallFiller::sort() const {
  using Entry = std::pair<int64_t, int32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  std::vector<int32_t> missing(problem.numNodes());
  std::vector<NodeId> stack;
  for (NodeId node : order) {
    missing[node] = static_cast<int32_t>(problem.predecessors(node).size());
    if (missing[node] == 0)
      stack.push_back(node);
  }
  Order sorted;
  auto settle = [&] {
    while (!stack.empty()) {
      NodeId node = stack.back();
      stack.pop_back();
      if (structure.isBackbone(node)) {
        ready.push({keys[node], places[node]});
        continue;
      }
      for (DependenceEnd end : problem.successors(node))
        if (--missing[end.node] == 0)
          stack.push_back(end.node);
    }
  };
  settle();
  while (!ready.empty()) {
    NodeId node = backbone[ready.top().second];
    ready.pop();
    sorted.push_back(node);
    for (DependenceEnd end : problem.successors(node))
      if (--missing[end.node] == 0)
        stack.push_back(end.node);
    settle();
  }
  return sorted;
}

Order StallFiller::run() {
  // Where the starts stand among the backbone.
  std::vector<int32_t> placesOfStarts(structure.numCollectives(), -1);
  int32_t place = -1;
  for (NodeId node : order) {
    if (places[node] >= 0)
      place = places[node];
    CollectiveId id = structure.collectiveOf(node);
    if (id == noCollective)
      continue;
    if (problem.kind(node) == NodeKind::Start)
      placesOfStarts[id] = place;
    else if (timeline.exposedNs[node] > 0 && placesOfStarts[id] >= 0)
      fill(id, placesOfStarts[id], place + 1, timeline.exposedNs[node]);
  }
  return sort();
}

Order schedule::fillStalls(const StepStructure &structure, const Order &order,
                           const Timeline &timeline, int32_t maxDistance) {
  return StallFiller(structure, order, timeline, maxDistance).run();
}
