//===- StepSchedulerTest.cpp - The shortest step within a memory limit ----===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/StepScheduler.h"

#include "CommSched/Schedule/MemoryTimeline.h"
#include "CommSched/Schedule/Simulator.h"
#include "CommSched/Schedule/Verify.h"
#include "RandomStep.h"
#include "StepBuilder.h"
#include "TestProblems.h"

#include <gtest/gtest.h>

using namespace commsched;
using namespace commsched::testing;

namespace {

/// Few trials are enough for a few operations.
StepSchedulerOptions withLittleEffort() {
  StepSchedulerOptions options;
  options.effort = 20'000;
  return options;
}

StepSchedule
schedule(Problem &problem,
         const StepSchedulerOptions &options = withLittleEffort()) {
  const OptionalError &error = problem.finalize();
  EXPECT_FALSE(error) << *error;
  return *scheduleStep(problem, options);
}

TEST(StepScheduler, KeepsAProgramThatCannotBeBettered) {
  Problem problem;
  NodeId gather = addStart(problem, 100);
  addCompute(problem, 100);
  addCompute(problem, 10, {problem.addWait(gather)});
  StepSchedule best = schedule(problem);
  EXPECT_EQ(best.origin, ScheduleOrigin::Program);
  EXPECT_EQ(best.order, programOrder(problem));
  EXPECT_EQ(best.stepNs, 110);

  Problem empty;
  EXPECT_EQ(schedule(empty).stepNs, 0);
}

TEST(StepScheduler, TakesSimpleOverlapThatIsAsGood) {
  Problem problem;
  NodeId first = addCompute(problem, 100);
  NodeId gather = addStart(problem, 100);
  NodeId wait = problem.addWait(gather);
  NodeId last = addCompute(problem, 10, {wait, first});
  StepSchedule best = schedule(problem);
  EXPECT_EQ(best.origin, ScheduleOrigin::SimpleOverlap);
  EXPECT_EQ(best.order, (Order{gather, first, wait, last}));
  EXPECT_EQ(best.stepNs, 110);
}

TEST(StepScheduler, ConstructsWhatTheProgramIsTooStiffFor) {
  // A gather that is needed first comes behind one that is needed last.
  Problem problem;
  NodeId second = addStart(problem, 100);
  NodeId first = addStart(problem, 100);
  NodeId needsFirst = addCompute(problem, 100, {problem.addWait(first)});
  NodeId needsSecond =
      addCompute(problem, 100, {problem.addWait(second), needsFirst});
  StepSchedule best = schedule(problem);
  EXPECT_EQ(best.origin, ScheduleOrigin::Constructed);
  Positions positions = *invert(problem, best.order);
  EXPECT_LT(positions[first], positions[second]);
  EXPECT_LT(positions[needsFirst], positions[needsSecond]);
  EXPECT_EQ(best.stepNs, 300);
}

/// Two values of 100 bytes each from one operation each; what needs them leaves
/// 10. The program makes both first.
struct HungryExample {
  HungryExample() {
    Tensor input = step.addArgument(10);
    Tensor a = step.compute(10, 100, {input}),
           b = step.compute(10, 100, {input});
    Tensor gathered = step.wait(step.start(50, 40, input));
    Tensor fromA = step.compute(10, 10, {a});
    Tensor fromB = step.compute(10, 10, {b});
    step.finish(10, 10, {fromA, fromB, gathered});
  }
  StepBuilder step;
};

TEST(StepScheduler, TakesTheLeastMemoryIfNothingFits) {
  HungryExample example;
  StepSchedulerOptions options = withLittleEffort();
  options.limitBytes = 1;
  StepSchedule best = schedule(example.step.problem, options);
  EXPECT_EQ(best.origin, ScheduleOrigin::LeastMemory);
  EXPECT_FALSE(best.fits(options.limitBytes));
  // Input, one value with what it leaves, and what the other one left.
  EXPECT_EQ(best.peakBytes, 10 + 100 + 10 + 10);
  // With that for a limit it is met.
  options.limitBytes = best.peakBytes;
  EXPECT_TRUE(schedule(example.step.problem, options).fits(best.peakBytes));
}

TEST(StepScheduler, TakesNoBadProblem) {
  Problem open;
  EXPECT_FALSE(scheduleStep(open, {}));
  EXPECT_FALSE(sketchStep(open, {}));
  Problem backwards;
  NodeId first = addCompute(backwards, 1), second = addCompute(backwards, 1);
  backwards.addDependence(second, first, DependenceKind::Data);
  ASSERT_FALSE(backwards.finalize());
  Result<StepSchedule> result = scheduleStep(backwards, {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().find("the program is not a legal order: "), 0u)
      << result.error();
}

TEST(StepScheduler, SketchesAreSchedulesThatMayBeWorse) {
  int numWorse = 0, numBetterThanProgram = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Problem problem = makeRandomStep(seed, 4);
    Order program = programOrder(problem);
    StepSchedulerOptions options = withLittleEffort();
    options.slackPercent = 0;
    options.limitBytes =
        simulateMemory(problem, program)->peakBytes * (seed % 2 ? 1 : 2);
    Result<StepSchedule> sketch = sketchStep(problem, options);
    ASSERT_TRUE(sketch) << sketch.error();
    ASSERT_FALSE(verify(problem, sketch->order));
    EXPECT_EQ(sketch->stepNs, simulate(problem, sketch->order)->stepNs);
    EXPECT_EQ(sketch->peakBytes,
              simulateMemory(problem, sketch->order)->peakBytes);
    EXPECT_TRUE(sketch->fits(options.limitBytes));
    int64_t programNs = simulate(problem, program)->stepNs;
    EXPECT_LE(sketch->stepNs, programNs);
    numBetterThanProgram += sketch->stepNs < programNs;
    StepSchedule best = *scheduleStep(problem, options);
    EXPECT_GE(sketch->stepNs, best.stepNs - best.stepNs / 1000);
    numWorse += sketch->stepNs > best.stepNs;
  }
  EXPECT_GT(numBetterThanProgram, 100);
  EXPECT_GT(numWorse, 10);
}

} // namespace
