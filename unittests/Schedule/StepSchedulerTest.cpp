//===- StepSchedulerTest.cpp - Tests of the step scheduler ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Step/StepScheduler.h"
#include "Step/ListScheduling.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

/// Few trials are enough for a few operations.
StepSchedulerOptions withLittleEffort() {
  StepSchedulerOptions options;
  options.effort = 20'000;
  return options;
}

StepSchedule
schedule(const Problem &problem,
         const StepSchedulerOptions &options = withLittleEffort()) {
  return need(scheduleStep(problem, options));
}

TEST(StepScheduler, KeepsAProgramThatCannotBeBettered) {
  // Of one gather that is hidden, without anything to hide a collective, and
  // without operations.
  for (auto [text, stepNs] :
       {std::pair("g = start 100; a = 100; wait g; b = 10 g'", 110),
        {"a = 10; g = start 100 a; wait g; b = 10 g'", 120},
        {R"(a = 10; g = start 100 a; wait g; h = start 100 g'; wait h
            b = 10 h')",
         220},
        {"", 0}}) {
    TextProblem problem(text);
    StepSchedule best = schedule(problem);
    EXPECT_EQ(best.origin, ScheduleOrigin::Program);
    EXPECT_EQ(best.order, programOrder(problem));
    EXPECT_EQ(best.stepNs, stepNs);
  }
}

TEST(StepScheduler, TakesSimpleOverlapThatIsAsGood) {
  TextProblem problem("a = 100; g = start 100; wait g; last = 10 g' a");
  StepSchedule best = schedule(problem);
  EXPECT_EQ(best.origin, ScheduleOrigin::SimpleOverlap);
  EXPECT_EQ(problem.tell(best.order), "g a g' last");
  EXPECT_EQ(best.stepNs, 110);
}

TEST(StepScheduler, IsAsShortAsListScheduling) {
  StepSchedulerOptions options;
  options.slackPercent = 0;
  options.effort = 0;
  for (uint64_t seed : Seeds(20)) {
    Problem problem = makeRandomStep(seed, 40);
    int64_t stepNs = scheduleStep(problem, options)->stepNs;
    for (int32_t length : {64, 256, 1024}) {
      int64_t listedNs =
          scheduleByRank(problem, rankByTail(problem), {length, {}}).stepNs;
      // What gains less than a thousandth is not tried.
      EXPECT_LE(stepNs - stepNs / 512, listedNs) << "window " << length;
    }
  }
}

/// Whether the operations come in this order.
bool areInOrder(const TextProblem &problem, const Order &order,
                const std::string &names) {
  Positions positions = *invert(problem, order);
  Order nodes = problem.list(names);
  return std::is_sorted(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) {
    return positions[a] < positions[b];
  });
}

TEST(StepScheduler, ConstructsWhatTheProgramIsTooStiffFor) {
  // A gather that is needed first comes behind one that is needed last.
  TextProblem problem(R"(
    second = start 100; first = start 100; wait first; needsFirst = 100 first'
    wait second; needsSecond = 100 second' needsFirst)");
  StepSchedule best = schedule(problem);
  EXPECT_EQ(best.origin, ScheduleOrigin::Constructed);
  EXPECT_TRUE(areInOrder(problem, best.order, "first second"));
  EXPECT_TRUE(areInOrder(problem, best.order, "needsFirst needsSecond"));
  EXPECT_EQ(best.stepNs, 300);
}

TEST(StepScheduler, TakesTheLeastMemoryIfNothingFits) {
  // Two values of 100 bytes each from one operation each; what needs them
  // leaves 10. The program makes both first.
  TextProblem problem(R"(
    x = arg 10!; a = 10 x -> 100; b = 10 x -> 100; g = start 50 x -> 40; wait g
    fromA = 10 a -> 10; fromB = 10 b -> 10; last = 10 fromA fromB g' -> 10!)");
  StepSchedulerOptions options = withLittleEffort();
  options.limitBytes = 1;
  StepSchedule best = schedule(problem, options);
  EXPECT_EQ(best.origin, ScheduleOrigin::LeastMemory);
  EXPECT_FALSE(best.fits(options.limitBytes));
  // Input, one value with what it leaves, and what the other one left.
  EXPECT_EQ(best.peakBytes, 10 + 100 + 10 + 10);
  // With that for a limit it is met.
  options.limitBytes = best.peakBytes;
  EXPECT_TRUE(schedule(problem, options).fits(best.peakBytes));
}

TEST(StepScheduler, TakesNoBadProblem) {
  Problem open;
  EXPECT_FALSE(scheduleStep(open, {}));
  EXPECT_FALSE(scheduleStepOnce(open, {}));
  EXPECT_FALSE(sketchStep(open, {}));
  TextProblem backwards("a = 1 b; b = 1");
  Result<StepSchedule> result = scheduleStep(backwards, {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().find("the program is not a legal order: "), 0u)
      << result.error();
}

/// Compares schedules by `solver` of random steps with those of scheduleStep():
/// how many are longer, and shorter than the program.
std::pair<int, int> compareWithScheduleStep(
    const Seeds &seeds,
    Result<StepSchedule> (*solver)(const Problem &,
                                   const StepSchedulerOptions &)) {
  int numWorse = 0, numBetterThanProgram = 0;
  for (uint64_t seed : seeds) {
    Problem problem = makeRandomStep(seed, 4);
    Order program = programOrder(problem);
    StepSchedulerOptions options = withLittleEffort();
    options.slackPercent = 0;
    options.limitBytes =
        simulateMemory(problem, program)->peakBytes * (seed % 2 ? 1 : 2);
    Result<StepSchedule> fast = solver(problem, options);
    if (!fast) {
      ADD_FAILURE() << fast.error();
      continue;
    }
    EXPECT_TRUE(verify(problem, fast->order));
    EXPECT_EQ(fast->stepNs, simulate(problem, fast->order)->stepNs);
    EXPECT_EQ(fast->peakBytes, simulateMemory(problem, fast->order)->peakBytes);
    EXPECT_TRUE(fast->fits(options.limitBytes));
    int64_t programNs = simulate(problem, program)->stepNs;
    EXPECT_LE(fast->stepNs, programNs);
    numBetterThanProgram += fast->stepNs < programNs;
    StepSchedule best = *scheduleStep(problem, options);
    EXPECT_GE(fast->stepNs, best.stepNs - best.stepNs / 1000);
    numWorse += fast->stepNs > best.stepNs;
  }
  return {numWorse, numBetterThanProgram};
}

TEST(StepScheduler, SketchesAreSchedulesThatMayBeWorse) {
  Seeds seeds(200);
  auto [numWorse, numBetterThanProgram] =
      compareWithScheduleStep(seeds, sketchStep);
  EXPECT_GT(numBetterThanProgram, 30);
  EXPECT_GT(numWorse, 3);
}

TEST(StepScheduler, OneRunMakesASchedule) {
  Seeds seeds(200);
  auto [numWorse, numBetterThanProgram] =
      compareWithScheduleStep(seeds, scheduleStepOnce);
  EXPECT_GT(numBetterThanProgram, 30);
  EXPECT_LT(numWorse, seeds.size() / 4);
}

TEST(StepScheduler, ImprovesOneRunToTheSchedule) {
  for (uint64_t seed : Seeds(50)) {
    Problem problem = makeRandomStep(seed, 4);
    StepSchedulerOptions options = withLittleEffort();
    EXPECT_EQ(improveStep(problem, *scheduleStepOnce(problem, options), options)
                  ->order,
              scheduleStep(problem, options)->order);
  }
}

TEST(StepScheduler, StartsLate) {
  TextProblem problem(R"(
    g = start 5 -> 40; h = start 5 -> 40; a = 1; wait g; wait h
    b = 1 g' a; c = 1 h' b)");
  EXPECT_EQ(problem.tell(*startLate(problem)), "a g g' b h h' c");
}

TEST(StepScheduler, HidesGathersBehindAllThatIsIndependent) {
  TextProblem problem(R"(a = 60; b = 60; g = start 120; wait g
                         root = 10 g' a b)");
  EXPECT_EQ(problem.tell(schedule(problem).order), "g a b g' root");
  EXPECT_EQ(schedule(TextProblem(R"(
              a = 100; b = 100; g = start 100; wait g; h = start 100; wait h
              root = 10 g' h' a b)"))
                .stepNs,
            210);
}

TEST(StepScheduler, StartsTheOneFirstThatStallsLess) {
  TextProblem problem(R"(
    small = start 20; large = start 100; a = 100; wait small; b = 10 small'
    wait large; c = 80 large')");
  StepSchedule best = schedule(problem);
  EXPECT_TRUE(areInOrder(problem, best.order, "large small"));
  EXPECT_EQ(best.stepNs, 190);
}

TEST(StepScheduler, OverlapsOnlyStreamsThatMayRunAtOnce) {
  TextProblem problem(repeat(3, "g$ = start 100@$; wait g$; a$ = 10 g$'"));
  EXPECT_EQ(schedule(problem).stepNs, 130);
  StepSchedulerOptions options = withLittleEffort();
  options.contention.exclusive = {{0, 1}, {0, 2}, {1, 2}};
  StepSchedule best = schedule(problem, options);
  EXPECT_EQ(best.stepNs, 310);
  Timeline timeline = *simulate(problem, best.order, options.contention);
  for (NodeId a = 0; a < problem.numNodes(); ++a)
    for (NodeId b = 0; b < a; ++b)
      if (problem.isCollective(a) && problem.isCollective(b)) {
        EXPECT_TRUE(timeline.endNs[a] <= timeline.beginNs[b] ||
                    timeline.endNs[b] <= timeline.beginNs[a]);
      }
}

TEST(StepScheduler, FillsStallsWithWeightGradients) {
  // A backward: each layer's exchange holds up the next, while the gradients
  // of the weights are there for what would stand still.
  TextProblem problem("x-1' = arg 100!;" + repeat(6, R"(
    activation$ = arg 100!; below$ = mm 100 x^' activation$ -> 100
    weight$ = mm 100 x^' activation$ -> 200; s$ = start 50 weight$ -> 50
    wait s$; shard$ = 5 s$' -> 50!; x$ = start 100@1 below$ -> 100; wait x$)") +
                      "last = 5 x5' -> 100!");
  Order program = programOrder(problem);
  StepSchedulerOptions options = withLittleEffort();
  options.slackPercent = 0;
  options.limitBytes = simulateMemory(problem, program)->peakBytes * 5 / 4;
  StepSchedule best = schedule(problem, options);
  EXPECT_TRUE(best.fits(options.limitBytes));
  EXPECT_GT(simulate(problem, program)->stepNs, best.stepNs);
  // The time of all computation, and the exposed rest at the end.
  EXPECT_LE(best.stepNs, simulate(problem, program)->computeNs + 100);
  // No gradient is left for much later, so that what it reads can go.
  for (const char *names :
       {"weight0 below3", "weight1 below4", "weight2 below5"})
    EXPECT_TRUE(areInOrder(problem, best.order, names)) << names;
}

TEST(StepScheduler, TakesCollectivesOfNoTimeAndNoSize) {
  TextProblem problem(R"(
    x = arg 0!; a = mm 100 x -> 0; g = start 0 a -> 0; wait g; b = 0 g' -> 0!
    y = arg 0!; h = start 0 y -> 0; wait h)");
  StepSchedulerOptions options = withLittleEffort();
  options.limitBytes = 0;
  StepSchedule best = schedule(problem, options);
  EXPECT_EQ(best.origin, ScheduleOrigin::Program);
  EXPECT_EQ(best.stepNs, 100);
  EXPECT_EQ(best.peakBytes, 0);
}

TEST(StepScheduler, PipelinesAChainOfGathers) {
  // The program gathers directly before each product.
  TextProblem problem(R"(
    p-1 = arg 10!; w = arg 20!
    g0 = start 70 w -> 80; wait g0; p0 = 100 p-1 g0' -> 10
    g1 = start 20 w -> 80; wait g1; p1 = 30 p0 g1' -> 10
    g2 = start 90 w -> 80; wait g2; p2 = 120 p1 g2' -> 10
    g3 = start 160 w -> 80; wait g3; p3 = 60 p2 g3' -> 10
    g4 = start 10 w -> 80; wait g4; p4 = 80 p3 g4' -> 10
    g5 = start 40 w -> 80; wait g5; p5 = 50 p4 g5' -> 10)");
  // Until the fourth is gathered 340 ns pass; it and the rest take 190.
  StepSchedulerOptions options = withLittleEffort();
  options.slackPercent = 0;
  EXPECT_EQ(schedule(problem, options).stepNs, 530);
}

} // namespace
