//===- StepSchedulerTest.cpp - Tests of the step scheduler ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Step/StepScheduler.h"

#include "../Seeds.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/Simulator.h"
#include "CommSched/Schedule/Model/Verify.h"
#include "RandomStep.h"
#include "Step/ListScheduling.h"
#include "StepBuilder.h"
#include "TestProblems.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::schedule::testing;
using mlir::commsched::testing::Seeds;

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
  const Status &status = problem.finalize();
  EXPECT_TRUE(status) << status.error();
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

TEST(StepScheduler, IsAsShortAsListScheduling) {
  StepSchedulerOptions options;
  options.slackPercent = 0;
  options.effort = 0;
  for (uint64_t seed : Seeds(20)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
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
  EXPECT_FALSE(scheduleStepOnce(open, {}));
  EXPECT_FALSE(sketchStep(open, {}));
  Problem backwards;
  NodeId first = addCompute(backwards, 1), second = addCompute(backwards, 1);
  backwards.addDependence(second, first, DependenceKind::Data);
  ASSERT_TRUE(backwards.finalize());
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
    SCOPED_TRACE("seed " + std::to_string(seed));
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

/// Whether the operations come in this order.
bool areInOrder(const Problem &problem, const Order &order,
                std::initializer_list<NodeId> nodes) {
  Positions positions = *invert(problem, order);
  return std::is_sorted(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) {
    return positions[a] < positions[b];
  });
}

TEST(StepScheduler, HidesAGatherBehindAllThatIsIndependent) {
  Problem problem;
  NodeId first = addCompute(problem, 60), second = addCompute(problem, 60);
  NodeId gather = addStart(problem, 120);
  NodeId wait = problem.addWait(gather);
  NodeId root = addCompute(problem, 10, {wait, first, second});
  StepSchedule best = schedule(problem);
  EXPECT_EQ(best.order, (Order{gather, first, second, wait, root}));
}

TEST(StepScheduler, SharesComputationAmongGathers) {
  Problem problem;
  NodeId first = addCompute(problem, 100), second = addCompute(problem, 100);
  NodeId waitA = problem.addWait(addStart(problem, 100));
  NodeId waitB = problem.addWait(addStart(problem, 100));
  addCompute(problem, 10, {waitA, waitB, first, second});
  EXPECT_EQ(schedule(problem).stepNs, 210);
}

TEST(StepScheduler, LeavesACollectiveWithNothingBesideIt) {
  Problem problem;
  NodeId operand = addCompute(problem, 10);
  NodeId exchange = addStart(problem, 100, {operand});
  addCompute(problem, 10, {problem.addWait(exchange)});
  EXPECT_EQ(schedule(problem).origin, ScheduleOrigin::Program);
}

TEST(StepScheduler, LeavesCollectivesInARow) {
  Problem problem;
  NodeId operand = addCompute(problem, 10);
  NodeId first = addStart(problem, 100, {operand});
  NodeId second = addStart(problem, 100, {problem.addWait(first)});
  addCompute(problem, 10, {problem.addWait(second)});
  StepSchedule best = schedule(problem);
  EXPECT_EQ(best.origin, ScheduleOrigin::Program);
  EXPECT_EQ(best.stepNs, 220);
}

TEST(StepScheduler, StartsTheOneFirstThatStallsLess) {
  Problem problem;
  NodeId small = addStart(problem, 20), large = addStart(problem, 100);
  addCompute(problem, 100);
  addCompute(problem, 10, {problem.addWait(small)});
  addCompute(problem, 80, {problem.addWait(large)});
  StepSchedule best = schedule(problem);
  EXPECT_TRUE(areInOrder(problem, best.order, {large, small}));
  EXPECT_EQ(best.stepNs, 190);
}

TEST(StepScheduler, OverlapsOnlyStreamsThatMayRunAtOnce) {
  Problem problem;
  constexpr int32_t numLayers = 3;
  for (StreamId stream = 0; stream < numLayers; ++stream) {
    NodeId gather = addStart(problem, 100, {}, stream);
    addCompute(problem, 10, {problem.addWait(gather)});
  }
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
  StepBuilder step;
  constexpr int numLayers = 6;
  std::vector<NodeId> inputs, weights;
  Tensor gradient = step.addArgument(100);
  for (int layer = 0; layer < numLayers; ++layer) {
    Tensor activation = step.addArgument(100);
    Tensor below = step.multiply(100, 100, {gradient, activation});
    Tensor weight = step.multiply(100, 200, {gradient, activation});
    Tensor shard = step.wait(step.start(50, 50, weight, /*stream=*/0));
    step.finish(5, 50, {shard});
    inputs.push_back(below.node);
    weights.push_back(weight.node);
    gradient = step.wait(step.start(100, 100, below, /*stream=*/1));
  }
  step.finish(5, 100, {gradient});
  Problem &problem = step.problem;
  problem.finalize();
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
  Positions positions = *invert(problem, best.order);
  for (int layer = 0; layer + 3 < numLayers; ++layer)
    EXPECT_LT(positions[weights[layer]], positions[inputs[layer + 3]]);
}

TEST(StepScheduler, IsTheSameEveryTime) {
  for (uint64_t seed : Seeds(40)) {
    Problem problem = makeRandomStep(seed, 4);
    Problem copy = renumber(problem, programOrder(problem));
    StepSchedulerOptions options = withLittleEffort();
    ASSERT_EQ(scheduleStep(problem, options)->order,
              scheduleStep(copy, options)->order);
  }
}

TEST(StepScheduler, TakesCollectivesOfNoTimeAndNoSize) {
  StepBuilder step;
  Tensor value = step.multiply(100, 0, {step.addArgument(0)});
  Tensor gathered = step.wait(step.start(0, 0, value));
  step.finish(0, 0, {gathered});
  step.wait(step.start(0, 0, step.addArgument(0)));
  StepSchedulerOptions options = withLittleEffort();
  options.limitBytes = 0;
  StepSchedule best = schedule(step.problem, options);
  EXPECT_EQ(best.origin, ScheduleOrigin::Program);
  EXPECT_EQ(best.stepNs, 100);
  EXPECT_EQ(best.peakBytes, 0);
}

TEST(StepScheduler, PipelinesAChainOfGathers) {
  // The program gathers directly before each product.
  const std::vector<int64_t> gathersNs{70, 20, 90, 160, 10, 40},
      productsNs{100, 30, 120, 60, 80, 50};
  StepBuilder step;
  Tensor value = step.addArgument(10);
  for (size_t i = 0; i < gathersNs.size(); ++i) {
    Tensor weight =
        step.wait(step.start(gathersNs[i], 80, step.addArgument(20)));
    value = step.compute(productsNs[i], 10, {value, weight});
  }
  // Until the fourth is gathered 340 ns pass; it and the rest take 190.
  StepSchedulerOptions options = withLittleEffort();
  options.slackPercent = 0;
  EXPECT_EQ(schedule(step.problem, options).stepNs, 530);
}

} // namespace
