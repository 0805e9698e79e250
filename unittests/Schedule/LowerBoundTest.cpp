//===- LowerBoundTest.cpp - Tests of bounds against all orders ------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Bounds/LowerBounds.h"

#include "../Seeds.h"
#include "CommSched/Schedule/Inductor/ListScheduler.h"
#include "CommSched/Schedule/Model/Simulator.h"

#include "RandomProblem.h"
#include "ReferenceBestStep.h"
#include "TestProblems.h"

#include <gtest/gtest.h>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::schedule::testing;
using mlir::commsched::testing::Seeds;

namespace {

TEST(LowerBound, TimelineExample) {
  TimelineExample example;
  Result<LowerBound> bound = computeLowerBound(example.problem);
  ASSERT_TRUE(bound) << bound.error();
  EXPECT_EQ(bound->computeNs, 110);
  EXPECT_EQ(bound->streamNs, 150);
  EXPECT_EQ(bound->busiestStream, 0);
  // gather_a 100, add_a 30, add_b 20.
  EXPECT_EQ(bound->criticalPathNs, 150);
  EXPECT_EQ(bound->ns(), 150);
}

TEST(LowerBound, EachPartCanBeTheLargest) {
  Problem compute;
  addCompute(compute, 10);
  addCompute(compute, 10);
  compute.finalize();
  EXPECT_EQ(computeLowerBound(compute)->ns(), 20);
  EXPECT_EQ(computeLowerBound(compute)->criticalPathNs, 10);
  EXPECT_EQ(computeLowerBound(compute)->busiestStream, noStream);

  Problem streams;
  for (StreamId stream : {0, 1, 1})
    streams.addWait(addStart(streams, 10, {}, stream));
  streams.finalize();
  EXPECT_EQ(computeLowerBound(streams)->ns(), 20);
  EXPECT_EQ(computeLowerBound(streams)->busiestStream, 1);

  Problem chain;
  NodeId first = addCompute(chain, 10);
  NodeId start = addStart(chain, 30, {first});
  addCompute(chain, 5, {chain.addWait(start)});
  chain.finalize();
  EXPECT_EQ(computeLowerBound(chain)->criticalPathNs, 45);
  EXPECT_EQ(computeLowerBound(chain)->ns(), 45);
}

TEST(LowerBound, OrderAfterAStartCarriesNoTime) {
  // The second start issues at once, on a stream of its own.
  Problem problem;
  NodeId first = addStart(problem, 30, {}, 0);
  NodeId second = addStart(problem, 30, {}, 1);
  problem.addDependence(first, second, DependenceKind::Order);
  problem.addWait(first);
  problem.addWait(second);
  problem.finalize();
  EXPECT_EQ(computeLowerBound(problem)->criticalPathNs, 30);
  EXPECT_EQ(simulate(problem, programOrder(problem))->stepNs, 30);
}

TEST(LowerBound, OrderAfterABlockingCarriesItsTime) {
  Problem problem;
  problem.addNode(NodeKind::Blocking, 30, 0);
  NodeId start = addStart(problem, 30, {}, 1);
  problem.addDependence(0, start, DependenceKind::Order);
  problem.addWait(start);
  problem.finalize();
  EXPECT_EQ(computeLowerBound(problem)->criticalPathNs, 60);
  EXPECT_EQ(simulate(problem, programOrder(problem))->stepNs, 60);
}

TEST(LowerBound, ReportsTheProblemsOwnError) {
  Problem problem;
  EXPECT_EQ(computeLowerBound(problem).error(), "the problem is not finalized");
}

TEST(LowerBound, NoOrderBeatsItAndSomeReachIt) {
  int reached = 0;
  for (uint64_t seed : Seeds(400)) {
    RandomProblemOptions options;
    options.maxNodes = 8;
    options.maxStreams = 2;
    options.shuffleProgram = seed % 2;
    Problem problem = makeRandomProblem(seed, options);
    ReferenceBestStep best(problem);
    Result<LowerBound> bound = computeLowerBound(problem);
    ASSERT_TRUE(bound) << bound.error();
    EXPECT_LE(bound->ns(), best.stepNs) << "seed " << seed;
    reached += bound->ns() == best.stepNs;
  }
  // A bound that is often the optimum is no empty promise.
  EXPECT_GT(reached, 60);
}

TEST(LowerBound, LargeProblemsKeepAboveIt) {
  for (uint64_t seed : Seeds(500)) {
    RandomProblemOptions options;
    options.maxNodes = 200;
    Problem problem = makeRandomProblem(seed, options);
    Result<LowerBound> bound = computeLowerBound(problem);
    ASSERT_TRUE(bound) << bound.error();
    Order order = makeRandomOrder(seed, problem);
    EXPECT_LE(bound->ns(), simulate(problem, order)->stepNs) << "seed " << seed;
  }
}

} // namespace
