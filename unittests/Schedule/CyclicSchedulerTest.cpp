//===- CyclicSchedulerTest.cpp - Tests of the scheduler of periods --------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Cyclic/CyclicScheduler.h"

#include "../Seeds.h"
#include "RandomCyclicProblem.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::schedule::testing;
using mlir::commsched::testing::Seeds;

namespace {

/// Builds training steps with parameters that are sharded: gathered for the
/// forward and for the backward of a layer, gradients reduced, shards updated.
class TrainingStep {
public:
  explicit TrainingStep(int32_t numLayers) : numLayers(numLayers) {}

  int64_t forwardNs = 100, backwardNs = 200, updateNs = 20, gatherNs = 60,
          scatterNs = 80;

  CyclicProblem build() {
    NodeId last = noNode;
    for (int32_t layer = 0; layer < numLayers; ++layer)
      last = addProduct(forwardNs, last, gather(layer));
    std::vector<NodeId> scatters(numLayers);
    for (int32_t layer = numLayers; layer-- > 0;) {
      last = addProduct(backwardNs, last, gather(layer));
      NodeId start = body.addNode(NodeKind::Start, scatterNs, 0);
      body.addDependence(last, start, DependenceKind::Data);
      scatters[layer] = body.addWait(start);
      body.addBuffer(125, start, /*freed=*/true);
    }
    std::vector<NodeId> updates;
    for (int32_t layer = 0; layer < numLayers; ++layer) {
      NodeId update = body.addNode(NodeKind::Compute, updateNs);
      body.addDependence(scatters[layer], update, DependenceKind::Data);
      updates.push_back(update);
    }
    body.finalize();
    CyclicProblem problem(std::move(body));
    for (auto [layer, start] : gathers)
      problem.addDependence(updates[layer], start, DependenceKind::Data, 1);
    return problem;
  }

private:
  NodeId gather(int32_t layer) {
    NodeId start = body.addNode(NodeKind::Start, gatherNs, 0);
    gathers.push_back({layer, start});
    NodeId wait = body.addWait(start);
    weight = body.addBuffer(1000, start, /*freed=*/true);
    body.addUse(weight, wait);
    return wait;
  }

  NodeId addProduct(int64_t costNs, NodeId last, NodeId wait) {
    NodeId product = body.addNode(NodeKind::Compute, costNs);
    body.addDependence(wait, product, DependenceKind::Data);
    body.addUse(weight, product);
    if (last != noNode)
      body.addDependence(last, product, DependenceKind::Data);
    return product;
  }

  Problem body;
  int32_t numLayers;
  std::vector<std::pair<int32_t, NodeId>> gathers;
  BufferId weight = 0;
};

CyclicSchedule scheduleWell(const CyclicProblem &problem,
                            const CyclicSchedulerOptions &options = {}) {
  Result<CyclicSchedule> schedule = scheduleCyclic(problem, options);
  EXPECT_TRUE(schedule) << schedule.error();
  Status status = verify(problem, schedule->order);
  EXPECT_TRUE(status) << status.error();
  return *schedule;
}

TEST(CyclicScheduler, ALoopOverLayersGathersThePeriodBefore) {
  Problem body;
  NodeId start = body.addNode(NodeKind::Start, 30, 0);
  NodeId wait = body.addWait(start);
  NodeId compute = body.addNode(NodeKind::Compute, 50);
  body.addDependence(wait, compute, DependenceKind::Data);
  body.finalize();
  CyclicProblem problem(std::move(body));
  problem.addDependence(compute, compute, DependenceKind::Data, 1);
  CyclicSchedule schedule = scheduleWell(problem);
  EXPECT_EQ(schedule.periodNs, 50);
  EXPECT_EQ(schedule.order.stages, std::vector<int32_t>({0, 0, 1}));
}

TEST(CyclicScheduler, ALoopWithGathersAndScattersRunsThreeRepetitionsAtOnce) {
  Problem body;
  NodeId gather = body.addNode(NodeKind::Start, 40, 0);
  NodeId gathered = body.addWait(gather);
  NodeId compute = body.addNode(NodeKind::Compute, 100);
  NodeId scatter = body.addNode(NodeKind::Start, 50, 0);
  NodeId scattered = body.addWait(scatter);
  NodeId store = body.addNode(NodeKind::Compute, 1);
  body.addDependence(gathered, compute, DependenceKind::Data);
  body.addDependence(compute, scatter, DependenceKind::Data);
  body.addDependence(scattered, store, DependenceKind::Data);
  body.finalize();
  CyclicProblem problem(std::move(body));
  problem.addDependence(compute, compute, DependenceKind::Data, 1);
  EXPECT_EQ(scheduleWell(problem).periodNs, 101);
}

TEST(CyclicScheduler, TheOptimizerHidesLastScattersAndFirstGathers) {
  for (int32_t numLayers : {3, 8, 40}) {
    CyclicProblem problem = TrainingStep(numLayers).build();
    Result<PeriodBound> bound = computePeriodBound(problem);
    ASSERT_TRUE(bound);
    int64_t serialNs = simulatePeriod(problem, programOrder(problem))->periodNs;
    int64_t periodNs = scheduleWell(problem).periodNs;
    EXPECT_LE(periodNs, bound->ns + bound->ns / 100) << numLayers;
    EXPECT_GT(serialNs, periodNs * 6 / 5);
  }
}

TEST(CyclicScheduler, TheLimitHoldsOverTheWholeRun) {
  CyclicProblem problem = TrainingStep(8).build();
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

TEST(CyclicScheduler, DepthOneKeepsRepetitionsApart) {
  CyclicProblem problem = TrainingStep(4).build();
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
    ASSERT_LE(schedule.peakBytes, options.step.limitBytes) << seed;
    ASSERT_LE(schedule.periodNs, simulatePeriod(problem, program)->periodNs)
        << seed;
    ASSERT_EQ(scheduleWell(problem, options).order.order, schedule.order.order)
        << seed;
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
