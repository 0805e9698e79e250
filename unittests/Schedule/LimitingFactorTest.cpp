//===- LimitingFactorTest.cpp - Tests of limiting factors -----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Inductor/ListScheduler.h"

#include "../Seeds.h"
#include "RandomProblem.h"
#include "TestProblems.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::schedule::testing;
using mlir::commsched::testing::Seeds;

namespace {

TEST(LimitingFactor, NamesTheNearestNeighbourAndTheReason) {
  Problem problem;
  NodeId early = addCompute(problem, 1);
  NodeId late = addCompute(problem, 1);
  NodeId start = addStart(problem, 1, {early});
  NodeId wait = problem.addWait(start);
  problem.addDependence(late, start, DependenceKind::Order);
  problem.addDependence(late, start, DependenceKind::Memory);
  problem.addDependence(start, addCompute(problem, 1), DependenceKind::Barrier);
  problem.finalize();

  Result<Positions> positions = invert(problem, {0, 1, 2, 3, 4});
  ASSERT_TRUE(positions) << positions.error();
  std::optional<DependenceEnd> earlier =
      limitEarlier(problem, *positions, start);
  ASSERT_TRUE(earlier);
  EXPECT_EQ(earlier->node, late);
  EXPECT_EQ(earlier->kind, DependenceKind::Memory);
  std::optional<DependenceEnd> later = limitLater(problem, *positions, start);
  ASSERT_TRUE(later);
  EXPECT_EQ(later->node, wait);
  EXPECT_EQ(later->kind, DependenceKind::Data);

  // In another order, others are the nearest.
  positions = invert(problem, {1, 0, 2, 4, 3});
  ASSERT_TRUE(positions) << positions.error();
  EXPECT_EQ(limitEarlier(problem, *positions, start)->node, early);
  EXPECT_EQ(limitLater(problem, *positions, start)->node, 4);
  EXPECT_EQ(limitLater(problem, *positions, start)->kind,
            DependenceKind::Barrier);

  EXPECT_FALSE(limitEarlier(problem, *positions, early));
  EXPECT_FALSE(limitLater(problem, *positions, wait));
}

/// Moving up to the limit is legal, and past it is not.
TEST(LimitingFactor, IsExactlyHowFarAnOperationCanMove) {
  RandomProblemOptions options;
  options.maxNodes = 20;
  auto move = [](Order order, int32_t from, int32_t to) {
    if (from < to)
      std::rotate(order.begin() + from, order.begin() + from + 1,
                  order.begin() + to + 1);
    else
      std::rotate(order.begin() + to, order.begin() + from,
                  order.begin() + from + 1);
    return order;
  };
  for (uint64_t seed : Seeds(300)) {
    Problem problem = makeRandomProblem(seed, options);
    Order order = makeRandomOrder(seed, problem);
    Result<Positions> positions = invert(problem, order);
    ASSERT_TRUE(positions) << positions.error();
    int32_t last = problem.numNodes() - 1;
    for (NodeId node : order) {
      int32_t position = (*positions)[node];
      std::optional<DependenceEnd> before =
          limitEarlier(problem, *positions, node);
      int32_t first = before ? (*positions)[before->node] + 1 : 0;
      EXPECT_TRUE(verify(problem, move(order, position, first)))
          << "seed " << seed << ", node " << node;
      if (before) {
        EXPECT_FALSE(verify(problem, move(order, position, first - 1)))
            << "seed " << seed << ", node " << node;
      }
      std::optional<DependenceEnd> after =
          limitLater(problem, *positions, node);
      int32_t final = after ? (*positions)[after->node] - 1 : last;
      EXPECT_TRUE(verify(problem, move(order, position, final)))
          << "seed " << seed << ", node " << node;
      if (after) {
        EXPECT_FALSE(verify(problem, move(order, position, final + 1)))
            << "seed " << seed << ", node " << node;
      }
    }
  }
}

} // namespace
