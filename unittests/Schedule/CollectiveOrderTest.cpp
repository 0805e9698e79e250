//===- CollectiveOrderTest.cpp - Order of collectives -----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Model/ProblemTransforms.h"

#include "CommSched/Schedule/Model/Verify.h"

#include "TestProblems.h"

#include <gtest/gtest.h>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::schedule::testing;

namespace {

/// Starts on streams 0, 1, 0, a barrier on stream 1, a start on it, the waits.
Problem makeFiveCollectives() {
  Problem problem;
  addStart(problem, 1, {}, 0);
  addStart(problem, 1, {}, 1);
  addStart(problem, 1, {}, 0);
  problem.addNode(NodeKind::Blocking, 1, 1);
  addStart(problem, 1, {}, 1);
  for (NodeId start : {0, 1, 2, 4})
    problem.addWait(start);
  return problem;
}

std::vector<std::pair<NodeId, NodeId>> orderEdges(const Problem &problem) {
  std::vector<std::pair<NodeId, NodeId>> edges;
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    for (DependenceEnd end : problem.successors(node))
      if (end.kind == DependenceKind::Order)
        edges.push_back({node, end.node});
  return edges;
}

using Edges = std::vector<std::pair<NodeId, NodeId>>;

TEST(CollectiveOrder, ListsCollectivesInProgramOrder) {
  EXPECT_EQ(collectivesInProgramOrder(makeFiveCollectives()),
            (std::vector<NodeId>{0, 1, 2, 3, 4}));
}

TEST(CollectiveOrder, WithinEachStream) {
  Problem problem = makeFiveCollectives();
  addCollectiveOrder(problem, CollectiveOrderScope::Stream);
  ASSERT_FALSE(problem.finalize());
  EXPECT_EQ(orderEdges(problem), (Edges{{0, 2}, {1, 3}, {3, 4}}));
  EXPECT_FALSE(verify(problem, {1, 0, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_TRUE(verify(problem, {2, 1, 0, 3, 4, 5, 6, 7, 8}));
}

TEST(CollectiveOrder, OverAllStreams) {
  Problem problem = makeFiveCollectives();
  addCollectiveOrder(problem, CollectiveOrderScope::Global);
  ASSERT_FALSE(problem.finalize());
  EXPECT_EQ(orderEdges(problem), (Edges{{0, 1}, {1, 2}, {2, 3}, {3, 4}}));
}

TEST(CollectiveOrder, LeavesBadStreamsToTheCheck) {
  Problem problem;
  problem.addNode(NodeKind::Blocking, 1, -5);
  problem.addNode(NodeKind::Blocking, 1, maxStreams);
  addCollectiveOrder(problem, CollectiveOrderScope::Stream);
  EXPECT_TRUE(problem.finalize());
  EXPECT_EQ(problem.numDependences(), 0u);
}

} // namespace
