//===- ListSchedulingTest.cpp - Tests of list scheduling by ranks ---------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Step/ListScheduling.h"

#include "../Seeds.h"
#include "CommSched/Schedule/Model/Simulator.h"
#include "CommSched/Schedule/Model/Verify.h"
#include "CommSched/Schedule/Step/StepScheduler.h"

#include "RandomProblem.h"
#include "TestProblems.h"

#include <gtest/gtest.h>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::schedule::testing;
using mlir::commsched::testing::Seeds;

namespace {

TEST(ListScheduling, ReadyComputationPassesWhatWaits) {
  Problem problem;
  NodeId start = addStart(problem, 10);
  NodeId wait = problem.addWait(start);
  NodeId user = addCompute(problem, 5, {wait});
  NodeId other = addCompute(problem, 8);
  problem.finalize();
  RankedOrder found = scheduleByRank(problem, rankByProgram(problem));
  EXPECT_EQ(found.order, (Order{start, other, wait, user}));
  EXPECT_EQ(found.stepNs, 15);
  // Not beyond the window.
  found = scheduleByRank(problem, rankByProgram(problem), {1, {}});
  EXPECT_EQ(found.order, (Order{start, wait, user, other}));
  EXPECT_EQ(found.stepNs, 23);
}

TEST(ListScheduling, FirstChunkIsIssuedBeforeTheSecondIsComputed) {
  // Of two chunks, products and what prepares the exchange.
  Problem problem;
  NodeId product = addCompute(problem, 100);
  NodeId prepare = addCompute(problem, 5, {product});
  NodeId start = addStart(problem, 50, {prepare});
  NodeId product2 = addCompute(problem, 100);
  NodeId prepare2 = addCompute(problem, 5, {product2});
  NodeId start2 = addStart(problem, 50, {prepare2});
  NodeId wait = problem.addWait(start), wait2 = problem.addWait(start2);
  problem.finalize();
  RankedOrder found = scheduleByRank(problem, rankByTail(problem));
  EXPECT_EQ(found.order, (Order{product, prepare, start, product2, wait,
                                prepare2, start2, wait2}));
  EXPECT_EQ(found.stepNs, 260);
}

TEST(ListScheduling, CollectivesAreIssuedWhenTheirStreamIsFree) {
  // The second collective is ready first, but ranks behind the third one, which
  // is ready when the stream is free.
  Problem problem;
  NodeId first = addStart(problem, 10);
  NodeId second = addStart(problem, 10);
  NodeId product = addCompute(problem, 4);
  NodeId third = addStart(problem, 10, {product});
  NodeId product2 = addCompute(problem, 20);
  for (NodeId start : {first, second, third})
    problem.addWait(start);
  problem.finalize();
  std::vector<int64_t> ranks = {0, 2, 0, 1, 3, 4, 5, 6};
  RankedOrder found = scheduleByRank(problem, ranks);
  EXPECT_EQ(Order(found.order.begin(), found.order.begin() + 5),
            (Order{first, product, third, second, product2}));
  // One that is fixed keeps its place.
  ListWindow window;
  window.isFixed = {false, true, false, false, false, false, false, false};
  found = scheduleByRank(problem, ranks, window);
  EXPECT_EQ(Order(found.order.begin(), found.order.begin() + 5),
            (Order{first, second, product, third, product2}));
}

TEST(ListScheduling, TheTimeIsThatOfTheSimulation) {
  for (uint64_t seed : Seeds(1000)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Problem problem = makeRandomProblem(seed, {});
    for (int32_t length : {0, 3, 1000})
      for (bool isByTail : {false, true}) {
        RankedOrder found = scheduleByRank(
            problem, isByTail ? rankByTail(problem) : rankByProgram(problem),
            {length, {}});
        Result<Timeline> timeline = simulate(problem, found.order);
        ASSERT_TRUE(timeline) << timeline.error();
        ASSERT_EQ(timeline->stepNs, found.stepNs);
        for (NodeId node = 0; node < problem.numNodes(); ++node)
          for (DependenceEnd end : problem.predecessors(node))
            ASSERT_LT(
                std::find(found.order.begin(), found.order.end(), end.node),
                std::find(found.order.begin(), found.order.end(), node));
      }
  }
}

/// The backward of layers with tensor parallelism: a gather, the product of the
/// weight gradient, that of the other gradient, and a scatter of it.
Problem makeLayers(int32_t numLayers) {
  Problem problem;
  NodeId gradient = addCompute(problem, 10);
  for (int32_t layer = 0; layer < numLayers; ++layer) {
    NodeId gathered = problem.addWait(addStart(problem, 40, {gradient}));
    addCompute(problem, 100, {gathered});
    NodeId product = addCompute(problem, 100, {gathered});
    problem.setExpensive(product);
    // Views and the like.
    for (int32_t i = 0; i < 30; ++i)
      product = addCompute(problem, 0, {product});
    gradient = problem.addWait(addStart(problem, 40, {product}));
  }
  problem.finalize();
  return problem;
}

TEST(ListScheduling, WeightGradientsRunBesideCollectivesOfOtherLayers) {
  Problem problem = makeLayers(8);
  StepSchedulerOptions options;
  options.effort = 0;
  Result<StepSchedule> schedule = scheduleStep(problem, options);
  ASSERT_TRUE(schedule) << schedule.error();
  // The products of weight gradients hide the scatters. Only then the gathers
  // can start, with nothing beside them.
  EXPECT_EQ(simulate(problem, problem.programOrder())->stepNs, 10 + 8 * 280);
  EXPECT_LE(schedule->stepNs, 10 + 8 * 240);
}

TEST(ListScheduling, TailsFollowTheEndsOfCollectives) {
  Problem problem;
  NodeId start = addStart(problem, 40);
  NodeId beside = addCompute(problem, 7, {start});
  NodeId last = addCompute(problem, 5, {problem.addWait(start)});
  problem.finalize();
  std::vector<int64_t> tails = computeTails(problem), ranks;
  EXPECT_EQ(tails[start], 5);
  EXPECT_EQ(tails[beside], 0);
  EXPECT_EQ(tails[last], 0);
  ranks = rankByTail(problem);
  EXPECT_EQ(ranks[start], -45);
  EXPECT_EQ(ranks[beside], -7);
}

} // namespace
