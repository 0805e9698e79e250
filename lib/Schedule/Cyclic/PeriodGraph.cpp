//===- PeriodGraph.cpp - Dependences within a period ----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PeriodGraph.h"

#include "BufferUses.h"

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

PeriodGraph::PeriodGraph(const CyclicProblem &problem) : problem(problem) {
  const Problem &body = problem.body();
  std::vector<CarriedDependence> edges = problem.carriedDependences();
  for (NodeId node = 0; node < body.numNodes(); ++node)
    for (DependenceEnd end : body.successors(node))
      edges.push_back({node, end.node, end.kind, 0});
  // A collective is waited for before that of the next repetition starts.
  for (NodeId start = 0; start < body.numNodes(); ++start)
    if (NodeId wait = body.waitOf(start); wait != noNode)
      edges.push_back({wait, start, DependenceKind::Order, 1});
  BufferUses uses(problem);
  for (BufferId id = 0; id < body.numBuffers(); ++id)
    if (NodeId producer = body.buffer(id).producer; producer != noNode)
      for (const BufferUse &use : uses[id])
        if (use.node != producer)
          edges.push_back(
              {producer, use.node, DependenceKind::Memory, use.distance});
  successorRows.build(
      body.numNodes(), edges.size(), [&](size_t i) { return edges[i].from; },
      [&](size_t i) { return End{edges[i].to, edges[i].distance}; });
  predecessorRows.build(
      body.numNodes(), edges.size(), [&](size_t i) { return edges[i].to; },
      [&](size_t i) { return End{edges[i].from, -edges[i].distance}; });
}
