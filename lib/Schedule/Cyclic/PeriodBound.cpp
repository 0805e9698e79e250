//===- PeriodBound.cpp - Lower bounds of the period -----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Bounds/LowerBounds.h"
#include "CommSched/Schedule/Cyclic/Period.h"
#include "CriticalCircle.h"

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

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
  Circle circle = findCriticalCircle(listDependences(problem), numNodes);
  if (circle.ns == 0)
    return bound;
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
  return bound;
}
