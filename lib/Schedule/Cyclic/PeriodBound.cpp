//===- PeriodBound.cpp - Lower bounds of the period -----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Bounds/LowerBounds.h"
#include "CommSched/Schedule/Cyclic/Period.h"

#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/howard_cycle_ratio.hpp>
#include <boost/property_map/property_map.hpp>

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

/// A dependence with what passes from the issue of `from` to that of `to`.
struct TimedDependence {
  NodeId from;
  NodeId to;
  int64_t ns;
  int32_t distance;
};

struct Circle {
  std::vector<NodeId> nodes;
  int64_t ns = 0;
  int32_t distance = 1;
};

} // namespace

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

/// Removes the dependences of operations that no circle leads to, or that lead
/// to no circle: every operation that is left has a predecessor and a
/// successor, as Howard's algorithm requires.
static void trimToCircles(std::vector<TimedDependence> &edges,
                          NodeId numNodes) {
  auto peel = [&](auto keyOf, auto otherOf) {
    Csr<int32_t> rows;
    rows.build(
        numNodes, edges.size(), [&](size_t i) { return keyOf(edges[i]); },
        [&](size_t i) { return static_cast<int32_t>(i); });
    std::vector<int32_t> missing(numNodes);
    for (const TimedDependence &edge : edges)
      ++missing[otherOf(edge)];
    std::vector<NodeId> ready;
    std::vector<char> isPeeled(numNodes);
    for (NodeId node = 0; node < numNodes; ++node)
      if (missing[node] == 0)
        ready.push_back(node);
    while (!ready.empty()) {
      NodeId node = ready.back();
      ready.pop_back();
      isPeeled[node] = true;
      for (int32_t index : rows[node])
        if (--missing[otherOf(edges[index])] == 0)
          ready.push_back(otherOf(edges[index]));
    }
    edges.erase(std::remove_if(edges.begin(), edges.end(),
                               [&](const TimedDependence &edge) {
                                 return isPeeled[keyOf(edge)];
                               }),
                edges.end());
  };
  auto from = [](const TimedDependence &edge) { return edge.from; };
  auto to = [](const TimedDependence &edge) { return edge.to; };
  peel(from, to);
  peel(to, from);
}

/// Returns a circle with the largest time over distance among `edges`, which
/// all have a successor; an empty one if there are none.
static Circle findCriticalCircle(const std::vector<TimedDependence> &edges,
                                 NodeId numNodes) {
  Circle circle;
  if (edges.empty())
    return circle;
  using Graph =
      boost::compressed_sparse_row_graph<boost::directedS, boost::no_property,
                                         boost::no_property,
                                         boost::no_property>;
  using Edge = boost::graph_traits<Graph>::edge_descriptor;
  // Only operations on circles are vertices.
  std::vector<int32_t> vertexOf(numNodes, -1);
  int32_t numVertices = 0;
  for (const TimedDependence &edge : edges)
    for (NodeId node : {edge.from, edge.to})
      if (vertexOf[node] < 0)
        vertexOf[node] = numVertices++;
  std::vector<std::pair<size_t, size_t>> ends;
  ends.reserve(edges.size());
  for (const TimedDependence &edge : edges)
    ends.push_back({vertexOf[edge.from], vertexOf[edge.to]});
  // The graph numbers edges by their source, those of one in the given order.
  std::vector<size_t> sorted(edges.size());
  for (size_t i = 0; i < sorted.size(); ++i)
    sorted[i] = i;
  std::stable_sort(sorted.begin(), sorted.end(), [&](size_t a, size_t b) {
    return ends[a].first < ends[b].first;
  });
  std::vector<double> times, distances;
  for (size_t i : sorted) {
    times.push_back(static_cast<double>(edges[i].ns));
    distances.push_back(static_cast<double>(edges[i].distance));
  }
  Graph graph(boost::edges_are_unsorted_multi_pass, ends.begin(), ends.end(),
              numVertices);
  auto indexOf = boost::get(boost::edge_index, graph);
  std::vector<Edge> critical;
  boost::maximum_cycle_ratio(
      graph, boost::get(boost::vertex_index, graph),
      boost::make_iterator_property_map(times.begin(), indexOf),
      boost::make_iterator_property_map(distances.begin(), indexOf), &critical);
  circle.distance = 0;
  for (const Edge &edge : critical) {
    const TimedDependence &dependence = edges[sorted[edge.idx]];
    circle.nodes.push_back(dependence.from);
    circle.ns += dependence.ns;
    circle.distance += dependence.distance;
  }
  return circle;
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
  NodeId numNodes = problem.body().numNodes();
  std::vector<TimedDependence> edges = listDependences(problem);
  trimToCircles(edges, numNodes);
  Circle circle = findCriticalCircle(edges, numNodes);
  if (circle.ns == 0)
    return bound;
  std::rotate(circle.nodes.begin(),
              std::min_element(circle.nodes.begin(), circle.nodes.end()),
              circle.nodes.end());
  int64_t ns = circle.ns / circle.distance + (circle.ns % circle.distance > 0);
  bound.circle = std::move(circle.nodes);
  bound.circleNs = circle.ns;
  bound.circleDistance = circle.distance;
  if (ns > bound.ns) {
    bound.ns = ns;
    bound.kind = PeriodBoundKind::Circle;
    bound.stream = noStream;
  }
  return bound;
}
