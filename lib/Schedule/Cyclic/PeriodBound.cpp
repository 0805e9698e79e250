//===- PeriodBound.cpp - Lower bounds of the period -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Bounds/LowerBounds.h"
#include "CommSched/Schedule/Cyclic/Period.h"

#include "PeriodWindow.h"

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

//===----------------------------------------------------------------------===//
// The critical circle
//===----------------------------------------------------------------------===//

/// Returns all dependences. As on the critical path (LowerBounds.cpp), the time
/// of a Start lies on the dependence of its wait alone.
static std::vector<TimedDependence>
listDependences(const CyclicProblem &problem) {
  const Problem &body = problem.body();
  auto timeOf = [&](NodeId from, NodeId to) {
    bool carriesCost =
        body.kind(from) != NodeKind::Start || body.waitOf(from) == to;
    return carriesCost ? body.costNs(from) : 0;
  };
  std::vector<TimedDependence> edges;
  for (NodeId node = 0; node < body.numNodes(); ++node)
    for (DependenceEnd end : body.successors(node))
      edges.push_back({node, end.node, timeOf(node, end.node), 0});
  for (const CarriedDependence &edge : problem.carriedDependences())
    edges.push_back(
        {edge.from, edge.to, timeOf(edge.from, edge.to), edge.distance});
  return edges;
}

namespace {

struct Circle {
  /// In the order of the dependences.
  std::vector<NodeId> nodes;
  int64_t ns = 0;
  int64_t distance = 1;
};

} // namespace

__extension__ using WideNs = __int128;

/// Returns the operations of which no predecessor is left, over and over: by
/// dependences from `keyOf` to `otherOf`.
template <typename KeyFn, typename OtherFn>
static std::vector<NodeId>
peelInOrder(const std::vector<TimedDependence> &edges, NodeId numNodes,
            KeyFn keyOf, OtherFn otherOf) {
  Csr<NodeId> rows;
  rows.build(
      numNodes, edges.size(), [&](size_t i) { return keyOf(edges[i]); },
      [&](size_t i) { return otherOf(edges[i]); });
  std::vector<int32_t> missing(numNodes);
  for (const TimedDependence &edge : edges)
    ++missing[otherOf(edge)];
  std::vector<NodeId> peeled;
  for (NodeId node = 0; node < numNodes; ++node)
    if (missing[node] == 0)
      peeled.push_back(node);
  for (size_t next = 0; next < peeled.size(); ++next)
    for (NodeId other : rows[peeled[next]])
      if (--missing[other] == 0)
        peeled.push_back(other);
  return peeled;
}

static NodeId fromOf(const TimedDependence &edge) { return edge.from; }
static NodeId toOf(const TimedDependence &edge) { return edge.to; }

/// Removes the dependences of operations that no circle leads to, or that lead
/// to no circle.
static void trimToCircles(std::vector<TimedDependence> &edges,
                          NodeId numNodes) {
  auto trim = [&](auto keyOf, auto otherOf) {
    std::vector<char> isPeeled(numNodes);
    for (NodeId node : peelInOrder(edges, numNodes, keyOf, otherOf))
      isPeeled[node] = true;
    edges.erase(std::remove_if(edges.begin(), edges.end(),
                               [&](const TimedDependence &edge) {
                                 return isPeeled[keyOf(edge)];
                               }),
                edges.end());
  };
  trim(fromOf, toOf);
  trim(toOf, fromOf);
}

/// Whether `a` takes more time over its distance.
static bool isLonger(const Circle &a, const Circle &b) {
  return static_cast<WideNs>(a.ns) * b.distance >
         static_cast<WideNs>(b.ns) * a.distance;
}

namespace {

/// Looks for circles that are longer than the longest that is known.
class CircleSearch {
public:
  CircleSearch(std::vector<TimedDependence> dependences, NodeId numNodes);

  Circle run();

private:
  bool relax();
  bool lengthen();

  std::vector<TimedDependence> edges;
  std::vector<NodeId> order;
  Csr<int32_t> edgesFrom;
  Circle longest;
  /// The longest path to each operation, of those that are known: what it takes
  /// beyond the ratio of the longest circle, as often as that has distance.
  std::vector<WideNs> excess;
  /// The last dependence of that path, or -1.
  std::vector<int32_t> lastEdge;
  std::vector<char> isChanged;
};

} // namespace

CircleSearch::CircleSearch(std::vector<TimedDependence> dependences,
                           NodeId numNodes)
    : edges(std::move(dependences)) {
  std::vector<TimedDependence> within;
  std::vector<char> isOnEdge(numNodes);
  for (const TimedDependence &edge : edges) {
    isOnEdge[edge.from] = isOnEdge[edge.to] = true;
    if (edge.distance == 0)
      within.push_back(edge);
  }
  order = peelInOrder(within, numNodes, fromOf, toOf);
  order.erase(std::remove_if(order.begin(), order.end(),
                             [&](NodeId node) { return !isOnEdge[node]; }),
              order.end());
  edgesFrom.build(
      numNodes, edges.size(), [&](size_t i) { return edges[i].from; },
      [&](size_t i) { return static_cast<int32_t>(i); });
  excess.resize(numNodes);
  lastEdge.resize(numNodes);
  isChanged.resize(numNodes);
}

/// Relaxes the dependences of all operations whose path has changed. Returns
/// whether any has changed.
bool CircleSearch::relax() {
  bool changed = false;
  for (NodeId node : order) {
    if (!isChanged[node])
      continue;
    isChanged[node] = false;
    for (int32_t index : edgesFrom[node]) {
      const TimedDependence &edge = edges[index];
      WideNs through = excess[node] +
                       static_cast<WideNs>(edge.ns) * longest.distance -
                       static_cast<WideNs>(longest.ns) * edge.distance;
      if (through <= excess[edge.to])
        continue;
      excess[edge.to] = through;
      lastEdge[edge.to] = index;
      isChanged[edge.to] = changed = true;
    }
  }
  return changed;
}

/// Takes the longest of the circles that the paths run into, if that is longer.
bool CircleSearch::lengthen() {
  Circle found = longest;
  std::vector<NodeId> seenFrom(excess.size(), noNode);
  for (NodeId first : order) {
    NodeId node = first;
    while (seenFrom[node] == noNode && lastEdge[node] >= 0) {
      seenFrom[node] = first;
      node = edges[lastEdge[node]].from;
    }
    if (seenFrom[node] != first || lastEdge[node] < 0)
      continue;
    Circle circle = {{}, 0, 0};
    NodeId at = node;
    do {
      const TimedDependence &edge = edges[lastEdge[at]];
      circle.ns += edge.ns;
      circle.distance += edge.distance;
      at = edge.from;
      circle.nodes.push_back(at);
    } while (at != node);
    std::reverse(circle.nodes.begin(), circle.nodes.end());
    if (isLonger(circle, found))
      found = std::move(circle);
  }
  if (!isLonger(found, longest))
    return false;
  longest = std::move(found);
  return true;
}

Circle CircleSearch::run() {
  do {
    std::fill(excess.begin(), excess.end(), 0);
    std::fill(lastEdge.begin(), lastEdge.end(), -1);
    std::fill(isChanged.begin(), isChanged.end(), true);
    bool isLengthened = false;
    while (relax() && !isLengthened)
      isLengthened = lengthen();
    if (!isLengthened)
      return std::move(longest);
  } while (true);
}

/// Returns a circle with the largest time over distance; an empty one if none
/// takes time. The dependences of distance 0 have no circle.
///
/// Newton's method on the ratio, whose steps look for a circle that is longer
/// by Bellman and Ford's algorithm (Dasdan, "Experimental Analysis of the
/// Fastest Optimum Cycle Ratio and Mean Algorithms", 2004). It relaxes the
/// operations in the order of the dependences of distance 0, so that a round
/// follows a path to the end of its repetition. O(dependences) for each round;
/// a few rounds, unless paths run through many repetitions.
static Circle findCriticalCircle(std::vector<TimedDependence> dependences,
                                 NodeId numNodes) {
  trimToCircles(dependences, numNodes);
  return CircleSearch(std::move(dependences), numNodes).run();
}

//===----------------------------------------------------------------------===//
// The bound
//===----------------------------------------------------------------------===//

/// Adds the critical circle, and raises the bound to its time.
static void addCircle(PeriodBound &bound, Circle circle) {
  if (circle.ns == 0)
    return;
  std::rotate(circle.nodes.begin(),
              std::min_element(circle.nodes.begin(), circle.nodes.end()),
              circle.nodes.end());
  int64_t ns = circle.ns / circle.distance + (circle.ns % circle.distance > 0);
  bound.circle = std::move(circle.nodes);
  bound.circleNs = circle.ns;
  bound.circleDistance = static_cast<int32_t>(circle.distance);
  if (ns > bound.ns) {
    bound.ns = ns;
    bound.kind = PeriodBoundKind::Circle;
    bound.stream = noStream;
  }
}

/// Raises the bound to that of a window.
static Status addWindow(PeriodBound &bound, const Problem &body,
                        const std::vector<TimedDependence> &dependences) {
  Result<TightLowerBound> window = boundWindow(body, dependences);
  if (!window)
    return Error{window.error()};
  // A chain of dependences is no longer than its circle.
  if (window->ns <= bound.ns || window->kind == BoundKind::CriticalPath)
    return Status::success();
  bound.ns = window->ns;
  bound.kind = window->kind == BoundKind::Stream ? PeriodBoundKind::Stream
                                                 : PeriodBoundKind::Computation;
  bound.stream = window->stream;
  return Status::success();
}

Result<PeriodBound> schedule::computePeriodBound(const CyclicProblem &problem) {
  if (Status status = problem.check(); !status)
    return status;
  Result<LowerBound> work = computeLowerBound(problem.body());
  if (!work)
    return Error{work.error()};
  PeriodBound bound;
  bound.ns = work->computeNs;
  if (work->streamNs > bound.ns) {
    bound.ns = work->streamNs;
    bound.kind = PeriodBoundKind::Stream;
    bound.stream = work->busiestStream;
  }
  std::vector<TimedDependence> dependences = listDependences(problem);
  addCircle(bound, findCriticalCircle(dependences, problem.body().numNodes()));
  if (Status status = addWindow(bound, problem.body(), dependences); !status)
    return Error{status.error()};
  return bound;
}
