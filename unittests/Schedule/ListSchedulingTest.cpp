//===- ListSchedulingTest.cpp - Tests of list scheduling by ranks ---------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Step/ListScheduling.h"
#include "CommSched/Schedule/Step/StepScheduler.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

TEST(ListScheduling, ReadyComputationPassesWhatWaits) {
  TextProblem problem("s = start 10; wait s; user = 5 s'; other = 8");
  RankedOrder found = scheduleByRank(problem, rankByProgram(problem));
  EXPECT_EQ(problem.tell(found.order), "s other s' user");
  EXPECT_EQ(found.stepNs, 15);
  // Not beyond the window.
  found = scheduleByRank(problem, rankByProgram(problem), {1, {}});
  EXPECT_EQ(problem.tell(found.order), "s s' user other");
  EXPECT_EQ(found.stepNs, 23);
}

TEST(ListScheduling, FirstChunkIsIssuedBeforeTheSecondIsComputed) {
  // Of two chunks, products and what prepares the exchange.
  TextProblem problem(R"(
    a = 100; prepareA = 5 a; s = start 50 prepareA; b = 100; prepareB = 5 b
    t = start 50 prepareB; wait s; wait t)");
  RankedOrder found = scheduleByRank(problem, rankByTail(problem));
  EXPECT_EQ(problem.tell(found.order), "a prepareA s b s' prepareB t t'");
  EXPECT_EQ(found.stepNs, 260);
}

TEST(ListScheduling, CollectivesAreIssuedWhenTheirStreamIsFree) {
  // The second collective is ready first, but ranks behind the third one, which
  // is ready when the stream is free.
  TextProblem problem(R"(
    s = start 10; t = start 10; a = 4; u = start 10 a; b = 20; wait s; wait t
    wait u)");
  std::vector<int64_t> ranks = {0, 2, 0, 1, 3, 4, 5, 6};
  auto tellFirst = [&](const ListWindow &window) {
    Order order = scheduleByRank(problem, ranks, window).order;
    order.resize(5);
    return problem.tell(order);
  };
  ListWindow window;
  EXPECT_EQ(tellFirst(window), "s a u t b");
  // One that is fixed keeps its place.
  window.isFixed = {false, true, false, false, false, false, false, false};
  EXPECT_EQ(tellFirst(window), "s t a u b");
}

TEST(ListScheduling, TheTimeIsThatOfTheSimulation) {
  for (uint64_t seed : Seeds(1000)) {
    Problem problem = makeRandomProblem(seed, {});
    for (int32_t length : {0, 3, 1000})
      for (bool isByTail : {false, true}) {
        RankedOrder found = scheduleByRank(
            problem, isByTail ? rankByTail(problem) : rankByProgram(problem),
            {length, {}});
        Timeline timeline = need(simulate(problem, found.order));
        ASSERT_EQ(timeline.stepNs, found.stepNs);
        ASSERT_TRUE(verify(problem, found.order));
      }
  }
}

TEST(ListScheduling, WeightGradientsRunBesideCollectivesOfOtherLayers) {
  // The backward of layers with tensor parallelism: a gather, the product of
  // the weight gradient, that of the other gradient, views and the like, and a
  // scatter of it.
  std::string views;
  for (int i = 0; i < 30; ++i)
    views +=
        "v$." + std::to_string(i + 1) + " = 0 v$." + std::to_string(i) + ";";
  TextProblem problem("s-1' = 10;" +
                      repeat(8, "g$ = start 40 s^'; wait g$; w$ = 100 g$';"
                                "v$.0 = mm 100 g$';" +
                                    views + "s$ = start 40 v$.30; wait s$"));
  StepSchedulerOptions options;
  options.effort = 0;
  StepSchedule schedule = need(scheduleStep(problem, options));
  // The products of weight gradients hide the scatters. Only then the gathers
  // can start, with nothing beside them.
  EXPECT_EQ(simulate(problem, problem.programOrder())->stepNs, 10 + 8 * 280);
  EXPECT_LE(schedule.stepNs, 10 + 8 * 240);
}

TEST(ListScheduling, TailsFollowTheEndsOfCollectives) {
  TextProblem problem("s = start 40; beside = 7 s; wait s; last = 5 s'");
  NodeId start = problem["s"], beside = problem["beside"],
         last = problem["last"];
  std::vector<int64_t> tails = computeTails(problem), ranks;
  EXPECT_EQ(tails[start], 5);
  EXPECT_EQ(tails[beside], 0);
  EXPECT_EQ(tails[last], 0);
  ranks = rankByTail(problem);
  EXPECT_EQ(ranks[start], -45);
  EXPECT_EQ(ranks[beside], -7);
}

} // namespace
