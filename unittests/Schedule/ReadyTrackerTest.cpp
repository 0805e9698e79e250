//===- ReadyTrackerTest.cpp - Tests of topological traversals -------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Model/ReadyTracker.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

TEST(IndegreeCounter, CountsParallelEdges) {
  IndegreeCounter counter(3);
  counter.addEdgesTo(1);
  counter.addEdgesTo(1);
  counter.addEdgesTo(2, /*count=*/0);
  EXPECT_EQ(counter.listReady(), (std::vector<int32_t>{0, 2}));
  EXPECT_TRUE(counter.isPending(1));
  EXPECT_FALSE(counter.removeEdgeTo(1));
  EXPECT_TRUE(counter.isPending(1));
  EXPECT_TRUE(counter.removeEdgeTo(1));
  EXPECT_TRUE(counter.isReady(1));
  counter.take(1);
  EXPECT_TRUE(counter.isTaken(1));
  EXPECT_FALSE(counter.isReady(1));
  EXPECT_EQ(counter.listReady(), (std::vector<int32_t>{0, 2}));
}

/// Takes the last operation that became ready each time.
Order traverse(const Problem &problem, TraversalDirection direction) {
  ReadyTracker tracker(problem, direction);
  std::vector<NodeId> ready = tracker.listReady();
  Order order;
  while (!ready.empty()) {
    NodeId node = ready.back();
    ready.pop_back();
    EXPECT_TRUE(tracker.isReady(node));
    order.push_back(node);
    tracker.take(node, [&](NodeId next) { ready.push_back(next); });
    EXPECT_TRUE(tracker.isTaken(node));
  }
  return order;
}

TEST(ReadyTracker, TraversesInBothDirections) {
  for (uint64_t seed : Seeds(300)) {
    Problem problem = makeEitherProblem(seed);
    Order forward = traverse(problem, TraversalDirection::Forward);
    Order backward = traverse(problem, TraversalDirection::Backward);
    std::reverse(backward.begin(), backward.end());
    for (const Order &order : {forward, backward}) {
      Positions positions = need(invert(problem, order));
      for (NodeId node = 0; node < problem.numNodes(); ++node)
        for (DependenceEnd end : problem.successors(node))
          ASSERT_LT(positions[node], positions[end.node]);
    }
  }
}

TEST(ReadyTracker, ReportsEachOperationWhenItsLastPredecessorIsTaken) {
  for (uint64_t seed : Seeds(100)) {
    Problem problem = makeRandomProblem(seed, {});
    ReadyTracker tracker(problem);
    std::vector<NodeId> expected = tracker.listReady();
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      ASSERT_EQ(std::count(expected.begin(), expected.end(), node),
                problem.predecessors(node).empty());
    for (NodeId node : problem.topologicalOrder())
      tracker.take(node, [&](NodeId next) {
        EXPECT_TRUE(tracker.isReady(next));
        for (DependenceEnd end : problem.predecessors(next))
          EXPECT_TRUE(tracker.isTaken(end.node));
        expected.push_back(next);
      });
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(expected, problem.programOrder());
  }
}

} // namespace
