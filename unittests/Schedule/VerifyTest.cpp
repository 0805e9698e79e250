//===- VerifyTest.cpp - Tests of the legality of orders -------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Model/Verify.h"
#include "TestProblems.h"

#include <utility>

using namespace mlir::commsched::schedule::testing;

namespace {

TEST(Verify, AcceptsLegalOrders) {
  TimelineExample example;
  EXPECT_TRUE(verify(example.problem, programOrder(example.problem)));
  EXPECT_TRUE(verify(example.problem, {1, 2, 0, 3, 4, 5, 6}));
  EXPECT_TRUE(verify(TextProblem(""), {}));
}

TEST(Verify, RejectsWhatIsNoPermutation) {
  TimelineExample example;
  EXPECT_EQ(verify(example.problem, {0, 1}).error(),
            "the order has 2 entries for a problem of 7 nodes");
  EXPECT_EQ(verify(example.problem, {0, 1, 2, 3, 4, 5, 7}).error(),
            "the order has node 7 at position 6; the problem has 7 nodes");
  EXPECT_EQ(verify(example.problem, {0, 1, 2, -1, 4, 5, 6}).error(),
            "the order has node -1 at position 3; the problem has 7 nodes");
  EXPECT_EQ(verify(example.problem, {0, 1, 2, 3, 2, 5, 6}).error(),
            "the order has node 2 (start) at position 2 and again at position "
            "4");
}

TEST(Verify, RejectsBrokenDependences) {
  TimelineExample example;
  EXPECT_EQ(verify(example.problem, {0, 2, 3, 4, 1, 5, 6}).error(),
            "node 4 (compute) at position 3 comes before node 1 (compute) at "
            "position 4, on which it depends (data)");
  EXPECT_EQ(verify(example.problem, {0, 1, 3, 4, 5, 2, 6}).error(),
            "node 5 (wait) at position 4 comes before node 2 (start) at "
            "position 5, on which it depends (data)");
}

TEST(Verify, RejectsUseBeforeTheBufferIsMade) {
  TextProblem problem("a = 1 -> 8; b = 1 use:a");
  EXPECT_TRUE(verify(problem, {0, 1}));
  EXPECT_EQ(verify(problem, {1, 0}).error(),
            "node 1 (compute) at position 0 uses buffer 0 before node 0 "
            "(compute) at position 1 makes it");
}

TEST(Verify, ReportsTheProblemsOwnError) {
  Problem problem;
  EXPECT_EQ(verify(problem, {}).error(), "the problem is not finalized");
}

TEST(Verify, InvertGivesPositions) {
  TimelineExample example;
  Positions positions = need(invert(example.problem, {1, 2, 0, 3, 4, 5, 6}));
  EXPECT_EQ(positions, (Positions{2, 0, 1, 3, 4, 5, 6}));
}

/// Swapping two neighbours is legal exactly if no dependence joins them.
TEST(Verify, AgreesWithDependencesOnEverySwapOfNeighbours) {
  int legal = 0, illegal = 0;
  for (uint64_t seed : Seeds(300)) {
    Problem problem = makeEitherProblem(seed);
    Order order = makeRandomOrder(seed, problem);
    ASSERT_TRUE(verify(problem, order));
    for (size_t i = 1; i < order.size(); ++i) {
      bool joined = false;
      for (DependenceEnd end : problem.successors(order[i - 1]))
        joined |= end.node == order[i];
      std::swap(order[i - 1], order[i]);
      EXPECT_EQ(!verify(problem, order), joined) << "position " << i;
      std::swap(order[i - 1], order[i]);
      ++(joined ? illegal : legal);
    }
  }
  EXPECT_GT(legal, 30);
  EXPECT_GT(illegal, 30);
}

} // namespace
