//===- RandomCyclicProblem.cpp - Random programs that repeat --------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomCyclicProblem.h"
#include "TestProblems.h"

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::testing;
using namespace mlir::commsched::schedule::testing;

/// Returns `problem` without buffers that are live from the start and freed.
static Problem keepInitialBuffers(const Problem &problem) {
  Problem result = copyOperations(problem);
  for (BufferId id = 0; id < problem.numBuffers(); ++id) {
    Buffer buffer = problem.buffer(id);
    result.addBuffer(buffer.bytes, buffer.producer,
                     buffer.freed && buffer.producer != noNode);
    for (NodeId user : problem.users(id))
      result.addUse(id, user);
  }
  result.finalize();
  return result;
}

CyclicProblem schedule::testing::makeRandomCyclicProblem(
    uint64_t seed, const RandomProblemOptions &options) {
  CyclicProblem problem(keepInitialBuffers(makeRandomProblem(seed, options)));
  Random random(seed * 31 + 7);
  const Problem &body = problem.body();
  if (body.numNodes() == 0)
    return problem;
  auto drawNode = [&] {
    return static_cast<NodeId>(random.below(body.numNodes()));
  };
  auto drawDistance = [&] {
    return static_cast<int32_t>(1 + random.percent(20));
  };
  for (int64_t i = random.below(2 + body.numNodes() / 2); i > 0; --i)
    problem.addDependence(drawNode(), drawNode(), DependenceKind::Data,
                          drawDistance());
  for (BufferId id = 0; id < body.numBuffers(); ++id)
    if (body.buffer(id).producer != noNode && random.percent(30))
      problem.addUse(id, drawNode(), drawDistance());
  return problem;
}

namespace {

/// All dependences that an order of the period respects: also those of uses,
/// and that a collective is waited for before it starts again.
std::vector<CarriedDependence> listAll(const CyclicProblem &problem) {
  const Problem &body = problem.body();
  std::vector<CarriedDependence> all = problem.carriedDependences();
  for (NodeId node = 0; node < body.numNodes(); ++node) {
    for (DependenceEnd end : body.successors(node))
      all.push_back({node, end.node, end.kind, 0});
    if (NodeId wait = body.waitOf(node); wait != noNode)
      all.push_back({wait, node, DependenceKind::Order, 1});
  }
  for (BufferId id = 0; id < body.numBuffers(); ++id)
    for (NodeId user : body.users(id))
      if (NodeId producer = body.buffer(id).producer;
          producer != noNode && producer != user)
        all.push_back({producer, user, DependenceKind::Memory, 0});
  for (const CarriedUse &use : problem.carriedUses())
    all.push_back({body.buffer(use.buffer).producer, use.node,
                   DependenceKind::Memory, use.distance});
  return all;
}

} // namespace

CyclicOrder schedule::testing::makeRandomCyclicOrder(
    uint64_t seed, const CyclicProblem &problem, int32_t maxStage) {
  Random random(seed * 17 + 3);
  NodeId numNodes = problem.body().numNodes();
  std::vector<CarriedDependence> all = listAll(problem);
  CyclicOrder schedule;
  for (NodeId node = 0; node < numNodes; ++node)
    schedule.stages.push_back(static_cast<int32_t>(random.below(maxStage + 1)));
  // No operation is more stages before another than the distance allows.
  for (bool changed = true; changed;) {
    changed = false;
    for (const CarriedDependence &edge : all) {
      int32_t least = schedule.stages[edge.from] - edge.distance;
      changed |= schedule.stages[edge.to] < least;
      schedule.stages[edge.to] = std::max(schedule.stages[edge.to], least);
    }
  }
  Problem period;
  for (NodeId node = 0; node < numNodes; ++node)
    period.addNode(NodeKind::Compute, 0);
  for (const CarriedDependence &edge : all)
    if (edge.distance + schedule.stages[edge.to] == schedule.stages[edge.from])
      period.addDependence(edge.from, edge.to, edge.kind);
  period.finalize();
  schedule.order = makeRandomOrder(seed, period);
  return schedule;
}
