//===- CollectiveOrdersTest.cpp - Tests of orders of collectives ----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Splitting/CollectiveOrders.h"

#include "../Seeds.h"
#include "CommSched/Schedule/Model/Simulator.h"
#include "CommSched/Schedule/Model/Verify.h"

#include "RandomProblem.h"
#include "TestProblems.h"

#include <gtest/gtest.h>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::schedule::testing;
using mlir::commsched::testing::Seeds;

namespace {

/// Two chunks of a scatter, a short computation, a gather and two
/// products.
struct TwoChunks {
  Problem problem;
  NodeId scatter[2], gather[2];

  TwoChunks() {
    NodeId last[2];
    for (int chunk : {0, 1})
      scatter[chunk] = addStart(problem, 10);
    for (int chunk : {0, 1}) {
      NodeId wait = problem.addWait(scatter[chunk]);
      NodeId normalization = addCompute(problem, 1, {wait});
      gather[chunk] = addStart(problem, 10, {normalization});
      last[chunk] = problem.addWait(gather[chunk]);
    }
    for (int chunk : {0, 1})
      for (int product = 0; product < 2; ++product)
        addCompute(problem, 10, {last[chunk]});
    problem.finalize();
  }
};

TEST(CollectiveOrders, StreamsWaitForTheNextCollectiveOfTheirOrder) {
  TwoChunks chunks;
  const Problem &problem = chunks.problem;
  auto [s0, s1] = chunks.scatter;
  auto [g0, g1] = chunks.gather;
  // The first product begins at 30, or at 21.
  EXPECT_EQ(scheduleByStarts(problem, {s0, s1, g0, g1})->stepNs, 70);
  std::optional<RankedOrder> found =
      scheduleByStarts(problem, {s0, g0, s1, g1});
  EXPECT_EQ(found->stepNs, 62);
  EXPECT_TRUE(verify(problem, found->order));
  EXPECT_EQ(simulate(problem, found->order)->stepNs, 62);
  EXPECT_EQ(listStarts(problem, found->order), (Order{s0, g0, s1, g1}));
}

TEST(CollectiveOrders, ContradictionsToDependencesAreFound) {
  TwoChunks chunks;
  auto [s0, s1] = chunks.scatter;
  auto [g0, g1] = chunks.gather;
  EXPECT_FALSE(scheduleByStarts(chunks.problem, {g0, s0, s1, g1}));
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
    EXPECT_LE(best.stepNs, first.stepNs) << "seed " << seed;
    EXPECT_EQ(simulate(problem, best.order)->stepNs, best.stepNs)
        << "seed " << seed;
  }
}

} // namespace
