//===- CollectiveOrdersTest.cpp - Tests of orders of collectives ----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Splitting/CollectiveOrders.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

/// Two chunks of a scatter, a short computation, a gather and two
/// products.
struct TwoChunks {
  TextProblem problem =
      TextProblem("s0 = start 10; s1 = start 10;" +
                  repeat(2, "wait s$; n$ = 1 s$'; g$ = start 10 n$; wait g$") +
                  repeat(2, "x$ = 10 g$'; y$ = 10 g$'"));
  Order list(const char *names) const { return problem.list(names); }
};

TEST(CollectiveOrders, StreamsWaitForTheNextCollectiveOfTheirOrder) {
  TwoChunks chunks;
  const Problem &problem = chunks.problem;
  // The first product begins at 30, or at 21.
  EXPECT_EQ(scheduleByStarts(problem, chunks.list("s0 s1 g0 g1"))->stepNs, 70);
  std::optional<RankedOrder> found =
      scheduleByStarts(problem, chunks.list("s0 g0 s1 g1"));
  EXPECT_EQ(found->stepNs, 62);
  EXPECT_TRUE(verify(problem, found->order));
  EXPECT_EQ(simulate(problem, found->order)->stepNs, 62);
  EXPECT_EQ(listStarts(problem, found->order), chunks.list("s0 g0 s1 g1"));
}

TEST(CollectiveOrders, ContradictionsToDependencesAreFound) {
  TwoChunks chunks;
  EXPECT_FALSE(scheduleByStarts(chunks.problem, chunks.list("g0 s0 s1 g1")));
}

TEST(CollectiveOrders, AnIdleStreamMayBeBetter) {
  TwoChunks chunks;
  const Problem &problem = chunks.problem;
  RankedOrder best = scheduleByRank(problem, rankByProgram(problem));
  EXPECT_EQ(best.stepNs, 70);
  RankedOrder kept = best;
  int64_t effort = 0;
  improveCollectives(problem, /*goalNs=*/0, effort, kept);
  EXPECT_EQ(kept.stepNs, 70);
  effort = 1 << 12;
  improveCollectives(problem, /*goalNs=*/0, effort, best);
  EXPECT_EQ(best.stepNs, 62);
  EXPECT_EQ(simulate(problem, best.order)->stepNs, 62);
}

TEST(CollectiveOrders, OrdersAreLegalAndNeverLonger) {
  for (uint64_t seed : Seeds(50)) {
    Problem problem = makeRandomProblem(seed, {});
    ASSERT_TRUE(problem.check());
    RankedOrder first = scheduleByRank(problem, rankByProgram(problem));
    RankedOrder best = first;
    int64_t effort = 1 << 12;
    improveCollectives(problem, /*goalNs=*/0, effort, best);
    EXPECT_LE(best.stepNs, first.stepNs);
    EXPECT_EQ(simulate(problem, best.order)->stepNs, best.stepNs);
  }
}

} // namespace
