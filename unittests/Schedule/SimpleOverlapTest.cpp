//===- SimpleOverlapTest.cpp - Tests of overlap without costs -------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Reordering/SimpleOverlap.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

/// `problem` with its operations numbered in `order`, and with other costs.
template <typename CostFn>
Problem rebuild(const Problem &problem, const Order &order, CostFn costOf) {
  Positions to = *invert(problem, order);
  Problem result;
  for (NodeId node : order) {
    if (problem.kind(node) == NodeKind::Wait)
      result.addWait(to[problem.startOf(node)]);
    else
      result.addNode(problem.kind(node), costOf(node), problem.stream(node));
  }
  for (NodeId node : order)
    for (DependenceEnd end : problem.predecessors(node))
      result.addDependence(to[end.node], to[node], end.kind);
  for (BufferId id = 0; id < problem.numBuffers(); ++id) {
    Buffer buffer = problem.buffer(id);
    if (buffer.producer != noNode)
      buffer.producer = to[buffer.producer];
    result.addBuffer(buffer.bytes, buffer.producer, buffer.freed);
    for (NodeId user : problem.users(id))
      result.addUse(id, to[user]);
  }
  result.finalize();
  return result;
}

std::vector<NodeId> collectivesIn(const Problem &problem, const Order &order) {
  std::vector<NodeId> collectives;
  for (NodeId node : order)
    if (problem.isCollective(node))
      collectives.push_back(node);
  return collectives;
}

TEST(SimpleOverlap, KeepsItsPromises) {
  int numMoved = 0;
  for (uint64_t seed : Seeds(2000)) {
    RandomProblemOptions options;
    options.maxNodes = seed % 4 ? 40 : 120;
    options.waitsMakeBuffers = seed % 2;
    Problem problem = makeRandomProblem(seed, options);
    Order program = programOrder(problem);
    IterativeReordering result = need(overlapSimply(problem));
    ASSERT_TRUE(verify(problem, result.order));
    EXPECT_LE(simulateMemory(problem, result.order)->peakBytes,
              simulateMemory(problem, program)->peakBytes);
    EXPECT_LE(simulate(problem, result.order)->stepNs,
              simulate(problem, program)->stepNs);
    EXPECT_EQ(collectivesIn(problem, result.order),
              collectivesIn(problem, program));
    numMoved += result.order != program;

    // Once is enough.
    if (!options.waitsMakeBuffers) {
      Problem moved = rebuild(problem, result.order, [&](NodeId node) {
        return problem.costNs(node);
      });
      IterativeReordering again = need(overlapSimply(moved));
      ASSERT_EQ(again.order, programOrder(moved));
    }

    // The costs do not matter.
    IterativeReordering other =
        need(overlapSimply(rebuild(problem, program, [](NodeId node) {
          return static_cast<int64_t>(node) * 37 % 11;
        })));
    EXPECT_EQ(other.order, result.order);
  }
  EXPECT_GT(numMoved, 300);
}

TEST(SimpleOverlap, StopsAtTheNeighboursThatMatter) {
  TextProblem problem(
      "source = 1; a = 5; s = start 4 source; wait s; b = 5; user = 1 s'");
  IterativeReordering result = need(overlapSimply(problem));
  EXPECT_EQ(problem.tell(result.order), "source s a b s' user");
  ASSERT_EQ(result.collectives.size(), 2u);
  const CollectiveMoves &start = result.collectives[0],
                        &wait = result.collectives[1];
  EXPECT_EQ(problem.tell({start.node, start.obstacle}), "s source");
  EXPECT_EQ(start.moves, 1);
  EXPECT_EQ(start.limit, MoveLimit::Dependence);
  EXPECT_EQ(problem.tell({wait.node, wait.obstacle}), "s' user");
  EXPECT_EQ(wait.moves, 1);
}

TEST(SimpleOverlap, NeverExceedsTheProgramsPeak) {
  // The start makes 8 bytes, and so does the operation above it, which frees
  // them at once: to pass it takes 16.
  TextProblem problem("a = 1; b = 5 -> 8; s = start 4 -> 8; wait s");
  IterativeReordering result = need(overlapSimply(problem));
  EXPECT_EQ(result.order, programOrder(problem));
  EXPECT_EQ(result.collectives[0].limit, MoveLimit::Memory);
  EXPECT_EQ(result.collectives[0].obstacle, problem["b"]);
  EXPECT_EQ(result.collectives[0].neededBytes, 16);
  EXPECT_EQ(result.newPeakBytes, 8);
}

TEST(SimpleOverlap, AWaitGoesNotBehindOtherWaitsOnly) {
  TextProblem problem("s = start 4; t = start 4; wait s; wait t");
  IterativeReordering result = need(overlapSimply(problem));
  EXPECT_EQ(result.order, programOrder(problem));
  for (const CollectiveMoves &moves : result.collectives)
    EXPECT_EQ(moves.moves, 0);
}

TEST(SimpleOverlap, RejectsAProgramOutOfOrder) {
  EXPECT_EQ(overlapSimply(TextProblem("a = 1 b; b = 1")).error(),
            "the program is not a legal order: node 0 (compute) at position 0 "
            "comes before node 1 (compute) at position 1, on which it depends "
            "(data)");
}

} // namespace
