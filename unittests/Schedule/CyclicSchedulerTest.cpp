//===- CyclicSchedulerTest.cpp - Tests of the scheduler of periods --------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Cyclic/CyclicScheduler.h"
#include "RandomCyclicProblem.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

/// A training step with parameters that are sharded: gathered for the forward
/// and for the backward of a layer, gradients reduced, shards updated.
CyclicProblem makeTrainingStep(int32_t numLayers) {
  std::string last = std::to_string(numLayers - 1), text = repeat(numLayers, R"(
    f$ = start 60 -> 1000; wait f$; forward$ = 100 f$' forward^)");
  text = "forward-1 = arg 0!;" + text;
  std::string behind = "forward" + last;
  for (int32_t layer = numLayers; layer-- > 0;) {
    std::string id = std::to_string(layer);
    text += "b" + id + " = start 60 -> 1000; wait b" + id + "; backward" + id +
            " = 200 b" + id + "' " + behind + "; s" + id +
            " = start 80 backward" + id + " -> 125; wait s" + id + ";";
    behind = "backward" + id;
  }
  TextProblem body(text + repeat(numLayers, "update$ = 20 data:s$'"));
  CyclicProblem problem(body);
  for (int32_t layer = 0; layer < numLayers; ++layer)
    for (const char *gather : {"f", "b"})
      problem.addDependence(body["update" + std::to_string(layer)],
                            body[gather + std::to_string(layer)],
                            DependenceKind::Data, 1);
  return problem;
}

CyclicSchedule scheduleWell(const CyclicProblem &problem,
                            const CyclicSchedulerOptions &options = {}) {
  CyclicSchedule schedule = need(scheduleCyclic(problem, options));
  Status status = verify(problem, schedule.order);
  EXPECT_TRUE(status) << status.error();
  return schedule;
}

/// A loop whose computation `c` depends on that of the repetition before.
CyclicProblem makeLoop(const char *text) {
  TextProblem body(text);
  CyclicProblem problem(body);
  problem.addDependence(body["c"], body["c"], DependenceKind::Data, 1);
  return problem;
}

TEST(CyclicScheduler, ALoopOverLayersGathersThePeriodBefore) {
  CyclicSchedule schedule =
      scheduleWell(makeLoop("g = start 30; wait g; c = 50 g'"));
  EXPECT_EQ(schedule.periodNs, 50);
  EXPECT_EQ(schedule.order.stages, std::vector<int32_t>({0, 0, 1}));
}

TEST(CyclicScheduler, WhatIsFreeRunsWithWhatReadsIt) {
  // Two views, or what is fused into the computation: the loop would carry the
  // values of those that run before the cut.
  CyclicSchedule schedule = scheduleWell(makeLoop(
      "view = 0; fused = 0 view; g = start 30; wait g; c = 50 g' fused"));
  EXPECT_EQ(schedule.periodNs, 50);
  EXPECT_EQ(schedule.order.stages, std::vector<int32_t>({1, 1, 0, 0, 1}));
}

TEST(CyclicScheduler, ALoopWithGathersAndScattersRunsThreeRepetitionsAtOnce) {
  EXPECT_EQ(scheduleWell(makeLoop(R"(
              g = start 40; wait g; c = 100 g'; s = start 50 c; wait s
              store = 1 s')"))
                .periodNs,
            101);
}

TEST(CyclicScheduler, TheOptimizerHidesLastScattersAndFirstGathers) {
  for (int32_t numLayers : {3, 8, 40}) {
    CyclicProblem problem = makeTrainingStep(numLayers);
    PeriodBound bound = need(computePeriodBound(problem));
    int64_t serialNs = simulatePeriod(problem, programOrder(problem))->periodNs;
    int64_t periodNs = scheduleWell(problem).periodNs;
    EXPECT_LE(periodNs, bound.ns + bound.ns / 100) << numLayers;
    EXPECT_GT(serialNs, periodNs * 6 / 5);
  }
}

TEST(CyclicScheduler, TheLimitHoldsOverTheWholeRun) {
  CyclicProblem problem = makeTrainingStep(8);
  int64_t lastNs = std::numeric_limits<int64_t>::max();
  for (int64_t limitBytes : {1200, 2400, 5000, 50000}) {
    CyclicSchedulerOptions options;
    options.step.limitBytes = limitBytes;
    CyclicSchedule schedule = scheduleWell(problem, options);
    EXPECT_LE(schedule.peakBytes, limitBytes);
    EXPECT_EQ(schedule.peakBytes, computeRunPeak(problem, schedule.order));
    EXPECT_LE(schedule.periodNs, lastNs);
    lastNs = schedule.periodNs;
  }
}

TEST(CyclicScheduler, WhatAStartMakesForItselfIsNotDueInTheNextPeriod) {
  // Only what the gathers deliver is, so that they start late.
  auto order = [](bool isCopied) {
    TextProblem body(R"(
      g = start 30 -> 100; h = start 30 -> 100; wait g; wait h; c = 20 g' h'
      d = 60 c -> 100; e = 20 d; f = 20 e -> 200; last = 20 f)");
    for (const char *gather : {"g", "h"})
      if (isCopied)
        body.addUse(body.addBuffer(0, body[gather], true), body[gather]);
    body.finalize();
    CyclicProblem problem(body);
    problem.addDependence(body["c"], body["c"], DependenceKind::Data, 1);
    return scheduleWell(problem).order.order;
  };
  EXPECT_EQ(order(true), order(false));
}

TEST(CyclicScheduler, DepthOneKeepsRepetitionsApart) {
  CyclicProblem problem = makeTrainingStep(4);
  CyclicSchedulerOptions options;
  options.maxDepth = 1;
  EXPECT_EQ(scheduleWell(problem, options).order.depth(), 1);
}

TEST(CyclicScheduler, RandomProblemsAreNeverWorseThanTheProgram) {
  RandomProblemOptions shape;
  shape.maxNodes = 16;
  for (uint64_t seed : Seeds(60)) {
    CyclicProblem problem = makeRandomCyclicProblem(seed, shape);
    CyclicOrder program = programOrder(problem);
    if (!verify(problem, program))
      continue;
    CyclicSchedulerOptions options;
    options.step.effort = 1 << 14;
    options.step.limitBytes = computeRunPeak(problem, program) * 11 / 10;
    CyclicSchedule schedule = scheduleWell(problem, options);
    ASSERT_LE(schedule.peakBytes, options.step.limitBytes);
    ASSERT_LE(schedule.periodNs, simulatePeriod(problem, program)->periodNs);
    ASSERT_EQ(scheduleWell(problem, options).order.order, schedule.order.order);
  }
}

TEST(CyclicScheduler, MoreMemoryIsRarelyLonger) {
  RandomProblemOptions shape;
  shape.maxNodes = 40;
  // The same problems always: no search within a time is monotone on all.
  for (uint64_t seed = 20; seed < 60; ++seed) {
    CyclicProblem problem = makeRandomCyclicProblem(seed, shape);
    CyclicOrder program = programOrder(problem);
    if (!verify(problem, program))
      continue;
    int64_t peakBytes = computeRunPeak(problem, program);
    int64_t lastNs = std::numeric_limits<int64_t>::max();
    for (int64_t percent : {90, 100, 130}) {
      CyclicSchedulerOptions options;
      options.step.effort = 1 << 14;
      options.step.limitBytes = peakBytes * percent / 100;
      CyclicSchedule schedule = scheduleWell(problem, options);
      if (schedule.peakBytes > options.step.limitBytes)
        continue;
      EXPECT_LE(schedule.periodNs, lastNs) << percent << " %";
      lastNs = schedule.periodNs;
    }
  }
}

/// The shortest period of all legal orders with stages 0 and 1.
int64_t findShortestPeriod(const CyclicProblem &problem) {
  NodeId numNodes = problem.body().numNodes();
  int64_t bestNs = std::numeric_limits<int64_t>::max();
  CyclicOrder schedule = programOrder(problem);
  do {
    for (int32_t set = 0; set < 1 << numNodes; ++set) {
      for (NodeId node = 0; node < numNodes; ++node)
        schedule.stages[node] = set >> node & 1;
      if (verify(problem, schedule))
        bestNs = std::min(bestNs, simulatePeriod(problem, schedule)->periodNs);
    }
  } while (std::next_permutation(schedule.order.begin(), schedule.order.end()));
  return bestNs;
}

TEST(CyclicScheduler, SmallProblemsAreNearlyAlwaysOptimal) {
  RandomProblemOptions shape;
  shape.maxNodes = 6;
  int32_t numProblems = 0, numOptimal = 0;
  // The same problems always: what is compared is a figure over all.
  for (uint64_t seed = 0; seed < 60; ++seed) {
    CyclicProblem problem = makeRandomCyclicProblem(seed, shape);
    if (!verify(problem, programOrder(problem)))
      continue;
    int64_t shortestNs = findShortestPeriod(problem);
    int64_t foundNs = scheduleWell(problem).periodNs;
    ++numProblems;
    numOptimal += foundNs <= shortestNs;
  }
  EXPECT_GT(numProblems, 30);
  EXPECT_GE(numOptimal * 100, numProblems * 95);
}

} // namespace
