//===- Exposure.cpp - Exposed time of collectives -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Exposure.h"

#include "CommSched/Schedule/Model/Verify.h"

#include <limits>
#include <set>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

/// The windows that walks from the starts find.
static std::vector<NodeId> walkFromStarts(const Problem &problem,
                                          const Order &order,
                                          const Positions &positions) {
  int32_t size = static_cast<int32_t>(order.size());
  std::vector<NodeId> ends(order.size(), noNode);
  int32_t nextBlocking = size;
  // By stream: the first wait for any of the collectives seen so far, which are
  // those that start later.
  std::vector<int32_t> nextWait(problem.numStreams(), size);
  for (int32_t place = size - 1; place >= 0; --place) {
    NodeId node = order[place];
    if (problem.kind(node) == NodeKind::Blocking)
      nextBlocking = place;
    if (problem.kind(node) != NodeKind::Start)
      continue;
    int32_t &streamWait = nextWait[problem.stream(node)];
    streamWait = std::min(streamWait, positions[problem.waitOf(node)]);
    ends[node] = order[std::min(streamWait, nextBlocking)];
  }
  return ends;
}

/// The windows that walks back from the waits find.
static std::vector<NodeId> walkFromWaits(const Problem &problem,
                                         const Order &order,
                                         const Positions &positions) {
  std::vector<NodeId> ends(order.size(), noNode);
  // Of what was met so far: blocking collectives, and starts whose wait was met
  // as well.
  std::set<int32_t> over;
  for (NodeId node : order) {
    if (problem.kind(node) == NodeKind::Blocking)
      over.insert(positions[node]);
    if (problem.kind(node) != NodeKind::Wait)
      continue;
    NodeId start = problem.startOf(node);
    auto next = over.upper_bound(positions[start]);
    ends[start] = next == over.end() ? node : order[*next];
    over.insert(positions[start]);
  }
  return ends;
}

std::vector<NodeId> schedule::computeWindowEnds(const Problem &problem,
                                                const Order &order,
                                                ExposureWalk walk) {
  Positions positions = positionsOf(order);
  return walk == ExposureWalk::FromStart
             ? walkFromStarts(problem, order, positions)
             : walkFromWaits(problem, order, positions);
}

std::vector<Exposure> schedule::computeExposure(const Problem &problem,
                                                const Order &order,
                                                ExposureWalk walk) {
  // By node: computation before it.
  std::vector<int64_t> computed(order.size());
  int64_t sum = 0;
  for (NodeId node : order) {
    computed[node] = sum;
    if (problem.kind(node) == NodeKind::Compute)
      sum += problem.costNs(node);
  }
  std::vector<NodeId> ends = computeWindowEnds(problem, order, walk);
  std::vector<Exposure> exposures(order.size());
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    if (problem.isCollective(node))
      exposures[node].commNs = problem.costNs(node);
    exposures[node].windowEnd = ends[node];
    if (ends[node] != noNode)
      exposures[node].computeNs = computed[ends[node]] - computed[node];
  }
  return exposures;
}

NodeId schedule::findWindowEnd(const EditableSchedule &schedule, NodeId start,
                               ExposureWalk walk) {
  const Problem &problem = schedule.getProblem();
  const EditableSchedule::Tree &tree = schedule.getTree();
  bool isForward = walk == ExposureWalk::FromStart;
  int32_t first = schedule.position(start) + 1;
  int32_t wait = schedule.position(problem.waitOf(start));
  int32_t end = wait;
  int32_t blocking = tree.findFirst(
      first, end, [](const StretchLoad &, const StretchLoad &stretch) {
        return stretch.numBlocking > 0;
      });
  if (blocking >= 0)
    end = blocking;
  for (int32_t place = first;; ++place) {
    place = tree.findFirst(
        place, end, [&](const StretchLoad &, const StretchLoad &stretch) {
          return (isForward ? stretch.numWaits : stretch.numStarts) > 0;
        });
    if (place < 0)
      return schedule.at(end);
    NodeId met = schedule.at(place);
    bool ends = isForward ? problem.stream(problem.startOf(met)) ==
                                    problem.stream(start) &&
                                schedule.position(problem.startOf(met)) >= first
                          : schedule.position(problem.waitOf(met)) < wait;
    if (ends)
      return met;
  }
}

int64_t schedule::getHidingTime(const EditableSchedule &schedule, NodeId start,
                                NodeId windowEnd) {
  const EditableSchedule::Tree &tree = schedule.getTree();
  return tree.before(windowEnd).computeTime - tree.before(start).computeTime;
}

int64_t ExposureTrade::exposedAfter(int64_t passed) const {
  int64_t sum = std::max<int64_t>(0, own - passed);
  for (int64_t other : others)
    sum += std::max<int64_t>(0, other + passed);
  return sum;
}

int64_t ExposureTrade::turningPoint() const {
  // The sum falls by one per unit while `own` is exposed, and rises by one for
  // each of the others that is: it rises from where one of them is exposed and
  // `own` is not, or two of them are.
  constexpr int64_t never = std::numeric_limits<int64_t>::max();
  int64_t one = never, two = never;
  for (int64_t other : others) {
    int64_t from = std::max<int64_t>(0, -other);
    two = std::min(two, std::max(one, from));
    one = std::min(one, from);
  }
  if (one == never)
    return never;
  return std::min(std::max<int64_t>(own, one), two);
}
