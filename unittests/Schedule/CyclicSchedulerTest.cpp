//===- CyclicSchedulerTest.cpp - Tests of programs that repeat ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Cyclic/CyclicScheduler.h"
#include "CommSched/Schedule/Cyclic/CyclicProblem.h"
#include "Cyclic/Rotation.h"
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

TEST(CyclicScheduler, ContentionCountsInThePeriod) {
  RandomProblemOptions shape;
  shape.maxNodes = 16;
  int64_t periodsNs = 0, periodsWithoutNs = 0;
  for (uint64_t seed : Seeds(60)) {
    CyclicProblem problem = makeRandomCyclicProblem(seed, shape);
    CyclicOrder program = programOrder(problem);
    if (!verify(problem, program))
      continue;
    Random random(seed);
    CyclicSchedulerOptions options;
    options.step.effort = 1 << 14;
    CyclicSchedule without = scheduleWell(problem, options);
    Contention contention =
        makeRandomContention(random, problem.body().numStreams());
    options.step.contention = contention;
    CyclicSchedule schedule = scheduleWell(problem, options);
    auto measure = [&](const CyclicOrder &order) {
      return need(simulatePeriod(problem, order, contention)).periodNs;
    };
    ASSERT_EQ(schedule.periodNs, measure(schedule.order));
    ASSERT_LE(schedule.periodNs, measure(program));
    periodsNs += schedule.periodNs;
    periodsWithoutNs += measure(without.order);
  }
  EXPECT_LT(periodsNs, periodsWithoutNs);
}

TEST(CyclicScheduler, WhatARepetitionHidesIsNotTaxed) {
  // Copy engines are slower, but hidden by the repetition before, where NCCL
  // slows computation down: 50 + 30 - 30 / 1.19 ns.
  CyclicProblem problem = makeLoop("g = start 30; wait g; c = 50 g'");
  CyclicSchedulerOptions options;
  options.step.effort = 1 << 14;
  options.step.contention.slowdownPpm = {190'000, 0};
  Implementations implementations = {{{30, 0}, {45, 1}}, {}, {}};
  CyclicImplementationSchedule chosen =
      need(scheduleImplementations(problem, implementations, options));
  EXPECT_EQ(chosen.choice, (ImplementationChoice{1, 0, 0}));
  EXPECT_EQ(chosen.schedule.periodNs, 50);
  // With a tax of their own they are not worth it.
  options.step.contention.slowdownPpm = {190'000, 190'000};
  chosen = need(scheduleImplementations(problem, implementations, options));
  EXPECT_EQ(chosen.choice, (ImplementationChoice{0, 0, 0}));
  EXPECT_EQ(chosen.schedule.periodNs, 55);
}

TEST(CyclicScheduler, AChoiceIsNeverWorseThanTheFirstImplementations) {
  RandomProblemOptions shape;
  shape.maxNodes = 16;
  int32_t numShorter = 0;
  for (uint64_t seed : Seeds(60)) {
    CyclicProblem problem = makeRandomCyclicProblem(seed, shape);
    const Problem &body = problem.body();
    if (!verify(problem, programOrder(problem)))
      continue;
    Random random(seed);
    Implementations implementations(body.numNodes());
    for (NodeId node = 0; node < body.numNodes(); ++node)
      if (body.kind(node) == NodeKind::Start)
        implementations[node] = {
            {body.costNs(node), body.stream(node)},
            {body.costNs(node) * random.oneOf<int64_t>({1, 2, 3}) / 2,
             body.numStreams()}};
    CyclicSchedulerOptions options;
    options.step.effort = 1 << 14;
    options.step.contention.slowdownPpm.assign(body.numStreams(), 190'000);
    CyclicSchedule first = scheduleWell(problem, options);
    options.step.contention.slowdownPpm.push_back(0);
    CyclicImplementationSchedule chosen =
        need(scheduleImplementations(problem, implementations, options));
    CyclicProblem changed =
        need(withImplementations(problem, implementations, chosen.choice));
    ASSERT_TRUE(verify(changed, chosen.schedule.order));
    ASSERT_EQ(chosen.schedule.periodNs,
              need(simulatePeriod(changed, chosen.schedule.order,
                                  options.step.contention))
                  .periodNs);
    ASSERT_LE(chosen.schedule.periodNs, first.periodNs);
    numShorter += chosen.schedule.periodNs < first.periodNs;
  }
  EXPECT_GT(numShorter, 10);
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

/// gather, its wait, computation that uses what was gathered.
Problem makeLayer() {
  return TextProblem("g = start 30 -> 1000; wait g; c = 50 g' -> 10!");
}

std::string getError(const Status &status) { return status.error(); }

TEST(CyclicProblem, ErrorsNameOperationsAndDistances) {
  CyclicProblem far(makeLayer());
  far.addDependence(2, 0, DependenceKind::Data, 64);
  EXPECT_EQ(getError(far.check()),
            "node 0 (start) depends on node 2 (compute) at a distance of 64 "
            "repetitions, but distances are from 1 to 63, and nodes below 3");
  CyclicProblem none(makeLayer());
  none.addDependence(2, 2, DependenceKind::Data, 0);
  EXPECT_EQ(getError(none.check()),
            "node 2 (compute) depends on node 2 (compute) at a distance of 0 "
            "repetitions, but distances are from 1 to 63, and nodes below 3");
  CyclicProblem buffer(makeLayer());
  buffer.addUse(7, 2, 1);
  EXPECT_EQ(getError(buffer.check()),
            "node 2 (compute) uses buffer 7 at a distance of 1 repetitions, "
            "but there are 2 buffers");
}

TEST(CyclicProblem, ErrorsOfBodiesAreNamed) {
  auto errorOf = [](const char *body) {
    return getError(CyclicProblem(TextProblem(body)).check());
  };
  EXPECT_EQ(errorOf("a = 1 memory:b; b = 1 a"),
            "dependences form a cycle of 2 nodes: node 0 (compute) -> node 1 "
            "(compute) -> node 0 (compute)");
  EXPECT_EQ(errorOf("a = 1; x = arg 8"),
            "buffer 0 is freed, but no operation makes it in each repetition");
  EXPECT_EQ(errorOf("a = 1125899906842624"),
            "the sum of all costs is 1125899906842624, of which 65536 "
            "repetitions do not fit 64 bits");
}

TEST(CyclicOrder, VerifyNamesBothPlaces) {
  CyclicProblem problem(makeLayer());
  problem.addDependence(2, 0, DependenceKind::Data, 1);
  CyclicOrder schedule = programOrder(problem);
  EXPECT_TRUE(verify(problem, schedule));
  // The gather of the next repetition would start before what it depends on.
  schedule.stages = {0, 0, 1};
  EXPECT_EQ(getError(verify(problem, schedule)),
            "node 0 (start) at stage 0, position 0 comes before node 2 "
            "(compute) at stage 1, position 2, on which it depends (data) at a "
            "distance of 1 repetitions");
  schedule.order = {2, 0, 1};
  EXPECT_TRUE(verify(problem, schedule));
  schedule.order = {2, 0};
  EXPECT_FALSE(verify(problem, schedule));
  schedule.order = {2, 0, 1};
  schedule.stages = {0, 0};
  EXPECT_EQ(getError(verify(problem, schedule)),
            "there are stages for 2 operations; the problem has 3");
  schedule.stages = {0, 0, -1};
  EXPECT_EQ(getError(verify(problem, schedule)),
            "node 2 (compute) has stage -1, but stages are from 0 to 63");
}

TEST(CyclicOrder, ACollectiveIsWaitedForBeforeItStartsAgain) {
  CyclicProblem problem(makeLayer());
  CyclicOrder schedule = programOrder(problem);
  schedule.stages = {0, 1, 1};
  EXPECT_EQ(getError(verify(problem, schedule)),
            "node 0 (start) at stage 0, position 0 starts again before node 1 "
            "(wait) at stage 1, position 1 has waited for it");
  schedule.order = {1, 0, 2};
  EXPECT_TRUE(verify(problem, schedule));
}

TEST(CyclicOrder, UnrollingRunsOnlyRepetitionsThatExist) {
  CyclicProblem problem(makeLayer());
  CyclicOrder schedule = {{0, 0, 1}, {2, 0, 1}};
  EXPECT_EQ(unroll(schedule, 2), Order({0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(unroll(schedule, 3), Order({0, 1, 2, 3, 4, 5, 6, 7, 8}));
  schedule.order = {0, 1, 2};
  EXPECT_EQ(unroll(schedule, 2), Order({0, 1, 3, 4, 2, 5}));
  EXPECT_EQ(CyclicOrder().depth(), 1);
}

TEST(CyclicOrder, APeriodProblemNeedsWholeCollectives) {
  CyclicProblem problem(makeLayer());
  CyclicOrder schedule = {{0, 1, 1}, {1, 0, 2}};
  Result<Problem> period = makePeriodProblem(problem, schedule);
  ASSERT_FALSE(period);
  EXPECT_EQ(period.error(), "node 1 (wait) has another stage than node 0 "
                            "(start), for which it waits");
}

std::optional<CyclicOrder> fillProgram(const CyclicProblem &problem,
                                       int64_t distanceNs = 0) {
  CyclicOrder program = programOrder(problem);
  Result<PeriodTimeline> period = simulatePeriod(problem, program);
  EXPECT_TRUE(bool(period));
  return fillPeriodStalls(PeriodGraph(problem), program, period->steady,
                          distanceNs);
}

/// Two layers of a backward: the gradients of inputs are a chain, those of
/// weights hang from it. The reduction at its end stalls.
const char *const backward = R"(
  a = 100; early = 50 a; update = 1 early; b = 100 a; late = 50 b
  s = start 70 b; wait s; last = 10 s')";

TEST(StallFilling, TakesTheNearestComputationThatNothingWaitsFor) {
  TextProblem body(backward);
  CyclicProblem problem(body);
  std::optional<CyclicOrder> filled = fillProgram(problem);
  ASSERT_TRUE(filled);
  // The update follows what it depends on, behind the stall.
  EXPECT_EQ(body.tell(filled->order), "a b s early late s' update last");
  Result<PeriodTimeline> period = simulatePeriod(problem, *filled);
  ASSERT_TRUE(bool(period));
  EXPECT_EQ(period->periodNs, 311);

  // What is nearer stays.
  filled = fillProgram(problem, /*distanceNs=*/120);
  ASSERT_TRUE(filled);
  EXPECT_EQ(body.tell(filled->order), "a b late s early s' update last");
  EXPECT_FALSE(fillProgram(problem, /*distanceNs=*/1000));
}

TEST(StallFilling, WithoutAStallNothingMoves) {
  EXPECT_FALSE(fillProgram(CyclicProblem(TextProblem("a = 10; b = 10 a"))));
}

TEST(StallFilling, RandomOrdersRemainLegal) {
  int32_t numFilled = 0;
  for (uint64_t seed : Seeds(2000)) {
    RandomProblemOptions options;
    options.maxNodes = 30;
    CyclicProblem problem = makeRandomCyclicProblem(seed, options);
    CyclicOrder schedule = makeRandomCyclicOrder(seed, problem, /*maxStage=*/2);
    Result<PeriodTimeline> period = simulatePeriod(problem, schedule);
    ASSERT_TRUE(bool(period)) << period.error();
    std::optional<CyclicOrder> filled =
        fillPeriodStalls(PeriodGraph(problem), schedule, period->steady,
                         static_cast<int64_t>(seed % 3) * period->periodNs / 8);
    if (!filled)
      continue;
    ++numFilled;
    Status legal = verify(problem, *filled);
    ASSERT_TRUE(bool(legal)) << legal.error();
  }
  EXPECT_GT(numFilled, 60);
}

} // namespace
