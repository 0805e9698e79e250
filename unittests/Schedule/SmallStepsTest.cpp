//===- SmallStepsTest.cpp - Tests of searches for steps of few operations -===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Step/SmallSteps.h"
#include "CommSched/Support/Unlimited.h"
#include "ExactStep.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

TEST(BeamSearch, FindsTheShortestOfAllOrders) {
  int numTried = 0, numFound = 0, numLimited = 0;
  for (uint64_t seed : Seeds(300)) {
    RandomProblemOptions shape;
    shape.maxNodes = 12;
    shape.waitsMakeBuffers = seed % 2;
    Problem problem = makeRandomProblem(seed, shape);
    int64_t leastPeak = ExactStep(problem, 0).findLeastPeak();
    for (int64_t limit : {leastPeak, unlimited}) {
      int64_t optimum = *ExactStep(problem, limit).find();
      numLimited += optimum > *ExactStep(problem, unlimited).find();
      SearchOptions options;
      options.limitBytes = limit;
      options.effort = 1 << 16;
      std::optional<Order> order = searchBeam(problem, options);
      ++numTried;
      // Orders that begin alike hide each other, so that it may miss some.
      ASSERT_TRUE(order);
      ASSERT_TRUE(verify(problem, *order));
      ASSERT_LE(simulateMemory(problem, *order)->peakBytes, limit);
      numFound += simulate(problem, *order)->stepNs == optimum;
      options.belowNs = optimum;
      ASSERT_FALSE(searchBeam(problem, options));
    }
    SearchOptions options;
    options.limitBytes = leastPeak - 1;
    options.effort = 1 << 16;
    ASSERT_FALSE(searchBeam(problem, options));
  }
  EXPECT_GT(numTried, 60);
  EXPECT_GT(numLimited, 1);
  EXPECT_GE(numFound * 100, numTried * 99);
}

TEST(BeamSearch, KeepsToItsOptions) {
  int numFound = 0;
  for (uint64_t seed : Seeds(60)) {
    Problem problem = makeRandomStep(seed, 4);
    Order program = programOrder(problem);
    SearchOptions options;
    options.limitBytes = simulateMemory(problem, program)->peakBytes;
    options.belowNs = simulate(problem, program)->stepNs;
    options.effort = 100'000;
    std::optional<Order> order = searchBeam(problem, options);
    ASSERT_EQ(order, searchBeam(problem, options));
    if (!order)
      continue;
    ++numFound;
    ASSERT_TRUE(verify(problem, *order));
    ASSERT_LE(simulateMemory(problem, *order)->peakBytes, options.limitBytes);
    int64_t stepNs = simulate(problem, *order)->stepNs;
    ASSERT_LT(stepNs, options.belowNs);
    // More effort finds no longer step; too little finds nothing.
    options.effort *= 8;
    ASSERT_LE(simulate(problem, *searchBeam(problem, options))->stepNs, stepNs);
    options.effort = problem.numNodes();
    ASSERT_FALSE(searchBeam(problem, options));
  }
  EXPECT_GT(numFound, 10);
}

TEST(BeamSearch, HasNothingToDo) {
  Problem problem;
  problem.finalize();
  SearchOptions options;
  options.effort = 1000;
  EXPECT_FALSE(searchBeam(problem, options));
}

SearchOptions unlimitedMemory(int64_t effort) {
  SearchOptions options;
  options.limitBytes = std::numeric_limits<int64_t>::max();
  options.effort = effort;
  return options;
}

TEST(OrderImprovement, StartsEarlierAndWaitsLater) {
  TextProblem problem("a = 100; g = start 200; wait g; b = 100; last = 10 g'");
  Order order = improveOrder(problem, programOrder(problem),
                             unlimitedMemory(/*effort=*/2000));
  EXPECT_EQ(simulate(problem, order)->stepNs, 210);
  if (order[1] != problem["a"])
    std::swap(order[1], order[2]);
  EXPECT_EQ(problem.tell(order), "g a b g' last");
}

TEST(OrderImprovement, KeepsWhatIsGoodEnough) {
  Problem problem = makeRandomStep(3, 4);
  Order program = programOrder(problem);
  EXPECT_EQ(improveOrder(problem, program, unlimitedMemory(/*effort=*/0)),
            program);
  SearchOptions options = unlimitedMemory(/*effort=*/100'000);
  EXPECT_NE(improveOrder(problem, program, options), program);
  options.goalNs = simulate(problem, program)->stepNs;
  EXPECT_EQ(improveOrder(problem, program, options), program);
  Problem empty;
  empty.finalize();
  EXPECT_EQ(improveOrder(empty, {}, unlimitedMemory(/*effort=*/10)), Order());
}

TEST(OrderImprovement, IsNeverWorse) {
  int numBetter = 0;
  for (uint64_t seed : Seeds(200)) {
    Problem problem =
        seed % 2 ? makeRandomStep(seed, 2) : makeRandomProblem(seed, {});
    Order before = makeRandomOrder(seed, problem);
    SearchOptions options = unlimitedMemory(/*effort=*/10'000);
    options.limitBytes = simulateMemory(problem, before)->peakBytes;
    if (problem.numStreams() >= 2 && seed % 3 == 0)
      options.contention.exclusive = {{0, 1}};
    Order after = improveOrder(problem, before, options);
    ASSERT_TRUE(verify(problem, after));
    ASSERT_LE(simulateMemory(problem, after)->peakBytes, options.limitBytes);
    int64_t beforeNs = simulate(problem, before, options.contention)->stepNs;
    int64_t afterNs = simulate(problem, after, options.contention)->stepNs;
    ASSERT_LE(afterNs, beforeNs);
    numBetter += afterNs < beforeNs;
    ASSERT_EQ(improveOrder(problem, before, options), after);
  }
  EXPECT_GT(numBetter, 30);
}

TEST(OrderImprovement, FindsTheOptimumOfMostTinySteps) {
  int numFound = 0, numTried = 0;
  for (uint64_t seed : Seeds(300)) {
    RandomProblemOptions shape;
    shape.maxNodes = 9;
    Problem problem = makeRandomProblem(seed, shape);
    Order order = improveOrder(problem, makeRandomOrder(seed, problem),
                               unlimitedMemory(/*effort=*/20'000));
    int64_t bestNs = *ExactStep(problem, unlimited).find();
    ASSERT_GE(simulate(problem, order)->stepNs, bestNs);
    numFound += simulate(problem, order)->stepNs == bestNs;
    ++numTried;
  }
  EXPECT_GE(numFound * 100, numTried * 95);
}

} // namespace
