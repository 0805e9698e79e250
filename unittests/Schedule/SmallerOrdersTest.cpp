//===- SmallerOrdersTest.cpp - Tests of orders that take less memory ------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Step/SmallerOrders.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

/// What is found for the program; the first order has to be legal.
SmallerOrders find(const Problem &problem) {
  SmallerOrders found = need(findSmallerOrders(problem));
  if (!found.orders.empty()) {
    EXPECT_TRUE(verify(problem, found.orders.front()));
  }
  return found;
}

TEST(SmallerOrders, AProgramWithTheLeastPeakHasNone) {
  SmallerOrders found =
      find(TextProblem("a = 10 -> 100; b = 10 a -> 1!; c = 10 -> 100; "
                       "d = 10 c -> 1!"));
  EXPECT_TRUE(found.orders.empty());
  EXPECT_EQ(found.leastBytes, 102);
}

TEST(SmallerOrders, ChainsComeOneAfterTheOther) {
  TextProblem problem("a = 10 -> 100; c = 10 -> 100; b = 10 a -> 1!; "
                      "d = 10 c -> 1!");
  SmallerOrders found = find(problem);
  ASSERT_FALSE(found.orders.empty());
  EXPECT_EQ(found.leastBytes, 102);
  EXPECT_EQ(simulateMemory(problem, found.orders.front())->peakBytes, 102);
}

TEST(SmallerOrders, OverlapOfCollectivesIsNoPoorOrder) {
  // Both gathers are in flight at once: that takes memory, and is better.
  SmallerOrders found = find(TextProblem(R"(
    a = start 10 -> 100; b = start 10 -> 100; wait a; useA = 10 a' -> 1!
    wait b; useB = 10 b' -> 1!)"));
  EXPECT_TRUE(found.orders.empty());
  EXPECT_EQ(found.leastBytes, 102);
}

TEST(SmallerOrders, NothingWaitsForAView) {
  // A chain of gradients, and behind it all products of one, which read it
  // through a view that takes no memory, and of a saved value.
  SmallerOrders found = find(TextProblem(
      "gradient-1 = arg 0;" + repeat(8, "gradient$ = 10 gradient^ -> 100") +
      repeat(8, "view$ = 0 gradient$ -> gradient$") + repeat(8, R"(
        saved$ = arg 150; product$ = 10 view$ saved$ -> 400
        sum$ = 1 product$ -> 1!)")));
  ASSERT_FALSE(found.orders.empty());
  // All saved values, a gradient with its product, and the next gradient.
  EXPECT_EQ(found.leastBytes, 8 * 150 + 100 + 400 + 100);
}

TEST(SmallerOrders, AnInvalidProgramIsAnError) {
  EXPECT_FALSE(findSmallerOrders(TextProblem("a = 10 b; b = 10")));
}

} // namespace
