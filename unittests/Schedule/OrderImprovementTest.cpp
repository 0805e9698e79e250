//===- OrderImprovementTest.cpp - Small moves that shorten a step ---------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/OrderImprovement.h"

#include "CommSched/Schedule/MemoryTimeline.h"
#include "CommSched/Schedule/Simulator.h"
#include "CommSched/Schedule/Verify.h"
#include "RandomProblem.h"
#include "RandomStep.h"
#include "ReferenceBestStep.h"
#include "TestProblems.h"

#include <gtest/gtest.h>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::schedule::testing;

namespace {

OrderImprovementOptions unlimitedMemory(int64_t effort) {
  OrderImprovementOptions options;
  options.limitBytes = std::numeric_limits<int64_t>::max();
  options.effort = effort;
  return options;
}

TEST(OrderImprovement, StartsEarlierAndWaitsLater) {
  Problem problem;
  NodeId first = addCompute(problem, 100);
  NodeId gather = addStart(problem, 200);
  NodeId wait = problem.addWait(gather);
  NodeId second = addCompute(problem, 100);
  NodeId last = addCompute(problem, 10, {wait});
  problem.finalize();
  Order order = improveOrder(problem, programOrder(problem),
                             unlimitedMemory(/*effort=*/2000));
  EXPECT_EQ(simulate(problem, order)->stepNs, 210);
  EXPECT_EQ(order.front(), gather);
  EXPECT_EQ(order[3], wait);
  EXPECT_EQ(order.back(), last);
  EXPECT_EQ(order[1] + order[2], first + second);
}

TEST(OrderImprovement, StaysWithinTheLimit) {
  Problem problem;
  NodeId first = addCompute(problem, 100);
  NodeId second = addCompute(problem, 100);
  NodeId gather = addStart(problem, 200);
  NodeId wait = problem.addWait(gather);
  NodeId last = addCompute(problem, 10, {wait});
  problem.addDependence(first, second, DependenceKind::Data);
  problem.addBuffer(50, first, /*freed=*/true);
  BufferId weight = problem.addBuffer(80, gather, /*freed=*/true);
  problem.addUse(weight, wait);
  problem.addUse(weight, last);
  problem.finalize();
  OrderImprovementOptions options = unlimitedMemory(/*effort=*/2000);
  // Not beside the first.
  options.limitBytes = 80;
  EXPECT_EQ(improveOrder(problem, programOrder(problem), options),
            (Order{first, gather, second, wait, last}));
}

TEST(OrderImprovement, FindsTheOptimumOfTheExample) {
  TimelineExample example;
  ReferenceBestStep best(example.problem);
  Order late{TimelineExample::mm,    TimelineExample::gatherA,
             TimelineExample::waitA, TimelineExample::gatherB,
             TimelineExample::addA,  TimelineExample::waitB,
             TimelineExample::addB};
  ASSERT_GT(simulate(example.problem, late)->stepNs, best.stepNs);
  Order order =
      improveOrder(example.problem, late, unlimitedMemory(/*effort=*/10'000));
  EXPECT_EQ(simulate(example.problem, order)->stepNs, best.stepNs);
}

TEST(OrderImprovement, KeepsWhatIsGoodEnough) {
  Problem problem = makeRandomStep(3, 4);
  Order program = programOrder(problem);
  EXPECT_EQ(improveOrder(problem, program, unlimitedMemory(/*effort=*/0)),
            program);
  OrderImprovementOptions options = unlimitedMemory(/*effort=*/100'000);
  EXPECT_NE(improveOrder(problem, program, options), program);
  options.goalNs = simulate(problem, program)->stepNs;
  EXPECT_EQ(improveOrder(problem, program, options), program);
  Problem empty;
  empty.finalize();
  EXPECT_EQ(improveOrder(empty, {}, unlimitedMemory(/*effort=*/10)), Order());
}

TEST(OrderImprovement, IsNeverWorse) {
  int numBetter = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Problem problem =
        seed % 2 ? makeRandomStep(seed, 2) : makeRandomProblem(seed, {});
    Order before = makeRandomOrder(seed, problem);
    OrderImprovementOptions options = unlimitedMemory(/*effort=*/10'000);
    options.limitBytes = simulateMemory(problem, before)->peakBytes;
    if (problem.numStreams() >= 2 && seed % 3 == 0)
      options.contention.exclusive = {{0, 1}};
    Order after = improveOrder(problem, before, options);
    ASSERT_FALSE(verify(problem, after));
    ASSERT_LE(simulateMemory(problem, after)->peakBytes, options.limitBytes);
    int64_t beforeNs = simulate(problem, before, options.contention)->stepNs;
    int64_t afterNs = simulate(problem, after, options.contention)->stepNs;
    ASSERT_LE(afterNs, beforeNs);
    numBetter += afterNs < beforeNs;
    ASSERT_EQ(improveOrder(problem, before, options), after);
  }
  EXPECT_GT(numBetter, 100);
}

TEST(OrderImprovement, FindsTheOptimumOfMostTinySteps) {
  int numFound = 0, numTried = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    RandomProblemOptions shape;
    shape.maxNodes = 9;
    Problem problem = makeRandomProblem(seed, shape);
    Order order = improveOrder(problem, makeRandomOrder(seed, problem),
                               unlimitedMemory(/*effort=*/20'000));
    int64_t bestNs = ReferenceBestStep(problem).stepNs;
    ASSERT_GE(simulate(problem, order)->stepNs, bestNs);
    numFound += simulate(problem, order)->stepNs == bestNs;
    ++numTried;
  }
  EXPECT_GE(numFound * 100, numTried * 95);
}

} // namespace
