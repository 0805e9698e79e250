//===- StepConstructionTest.cpp - Tests of one-pass construction ----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Step/StepConstruction.h"

#include "Step/ComputeOrders.h"
#include "StepBuilder.h"
#include "TestProblems.h"

#include <gtest/gtest.h>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::schedule::testing;

namespace {

/// Constructs orders of a problem that is finalized.
class Constructor {
public:
  explicit Constructor(Problem &problem) {
    const Status &status = problem.finalize();
    EXPECT_TRUE(status) << status.error();
    structure = *StepStructure::create(problem);
    construction.emplace(*structure, getProgramComputeOrder(*structure));
  }

  Order construct(const ConstructionOptions &options = {}) const {
    return construction->construct(options).order;
  }
  const Order &alapOrder() const { return construction->alapOrder(); }

private:
  std::optional<StepStructure> structure;
  std::optional<StepConstruction> construction;
};

struct Gather {
  NodeId start, wait;
};

/// Adds a gather of 80 bytes.
Gather addGather(Problem &problem, int64_t costNs, StreamId stream = 0) {
  NodeId start = addStart(problem, costNs, {}, stream);
  NodeId wait = problem.addWait(start);
  problem.addUse(problem.addBuffer(80, start, /*freed=*/true), wait);
  return {start, wait};
}

/// Four products in a row of 100 ns each, the last of which needs a gather.
struct PrefetchExample {
  explicit PrefetchExample(int64_t gatherNs = 100) {
    chain.push_back(addCompute(problem, 100));
    for (int i = 1; i < 3; ++i)
      chain.push_back(addCompute(problem, 100, {chain.back()}));
    gather = addStart(problem, gatherNs);
    wait = problem.addWait(gather);
    chain.push_back(addCompute(problem, 100, {chain.back(), wait}));
    problem.addBuffer(10, noNode, /*freed=*/false);
    BufferId weight = problem.addBuffer(80, gather, /*freed=*/true);
    problem.addUse(weight, wait);
    problem.addUse(weight, chain.back());
  }

  Problem problem;
  Order chain;
  NodeId gather, wait;
};

TEST(StepConstruction, LastMinuteIssuesDirectlyBeforeTheNeed) {
  StepBuilder step;
  Tensor input = step.addArgument(10);
  Tensor cast = step.compute(5, 20, {step.addArgument(10)});
  Started gather = step.start(100, 80, cast);
  Tensor weight = step.wait(gather);
  Tensor first = step.multiply(100, 40, {input});
  Tensor second = step.multiply(100, 40, {first, weight});
  Started scatter = step.start(100, 10, second);
  Tensor third = step.finish(100, 40, {first});
  Tensor shard = step.wait(scatter);
  Tensor update = step.finish(5, 10, {shard});
  // Operations that lower the memory run as early as possible, with their
  // successors.
  EXPECT_EQ(
      Constructor(step.problem).alapOrder(),
      (Order{first.node, cast.node, gather.start, weight.node, second.node,
             scatter.start, shard.node, update.node, third.node}));
}

TEST(StepConstruction, GathersStartAsLateAsIsSafe) {
  PrefetchExample example;
  const Order &c = example.chain;
  NodeId gather = example.gather, wait = example.wait;
  Constructor constructor(example.problem);
  auto constructAhead = [&](int64_t lookAheadNs) {
    ConstructionOptions options;
    options.lookAheadNs = lookAheadNs;
    return constructor.construct(options);
  };
  // It has to start at 200.
  EXPECT_EQ(constructAhead(0), (Order{c[0], c[1], gather, c[2], wait, c[3]}));
  EXPECT_EQ(constructAhead(99), (Order{c[0], c[1], gather, c[2], wait, c[3]}));
  EXPECT_EQ(constructAhead(100), (Order{c[0], gather, c[1], c[2], wait, c[3]}));
  EXPECT_EQ(constructAhead(200), (Order{gather, c[0], c[1], c[2], wait, c[3]}));
}

TEST(StepConstruction, SlackStartsGathersEarlier) {
  PrefetchExample example;
  const Order &c = example.chain;
  ConstructionOptions options;
  options.lookAheadNs = 0;
  options.slackPercent = 100;
  EXPECT_EQ(Constructor(example.problem).construct(options),
            (Order{c[0], example.gather, c[1], c[2], example.wait, c[3]}));
}

TEST(StepConstruction, TheNextGatherLimitsTheOneBefore) {
  // The one for the fourth product has to start at 100, the other one, though
  // it is only needed at 200, at 0.
  PrefetchExample example(200);
  const Order &c = example.chain;
  Problem &problem = example.problem;
  auto [other, otherWait] = addGather(problem, 100);
  problem.addDependence(otherWait, c[2], DependenceKind::Data);
  ConstructionOptions options;
  options.lookAheadNs = 0;
  EXPECT_EQ(Constructor(problem).construct(options),
            (Order{other, c[0], example.gather, c[1], otherWait, c[2],
                   example.wait, c[3]}));
}

TEST(StepConstruction, TheLimitDelaysAGatherByOneOperation) {
  PrefetchExample example;
  const Order &c = example.chain;
  // Only the first needs room for itself.
  example.problem.addBuffer(100, c[0], /*freed=*/true);
  Constructor constructor(example.problem);
  ConstructionOptions options;
  options.limitBytes = 10 + 100 + 80;
  EXPECT_EQ(constructor.construct(options),
            (Order{example.gather, c[0], c[1], c[2], example.wait, c[3]}));
  --options.limitBytes;
  EXPECT_EQ(constructor.construct(options),
            (Order{c[0], example.gather, c[1], c[2], example.wait, c[3]}));
}

TEST(StepConstruction, ScattersGoIntoTheGapBeforeTheNextGather) {
  auto build = [](int64_t releasingNs, PrefetchExample &example) {
    Problem &problem = example.problem;
    NodeId scatter = addStart(problem, releasingNs, {example.chain[0]});
    problem.addWait(scatter);
    ConstructionOptions options;
    options.lookAheadNs = 0;
    return Constructor(problem).construct(options);
  };
  // From 100 to 200, where the gather has to start.
  PrefetchExample fitting;
  const Order &c = fitting.chain;
  NodeId gather = fitting.gather, wait = fitting.wait;
  Order order = build(100, fitting);
  NodeId scatter = wait + 2, scatterWait = wait + 3;
  EXPECT_EQ(order, (Order{c[0], scatter, c[1], scatterWait, gather, c[2], wait,
                          c[3]}));
  // One that is longer comes behind it, and the gather is no later than it has
  // to be. Collectives with unused results are complete at the end.
  PrefetchExample longer;
  EXPECT_EQ(build(101, longer), (Order{c[0], gather, c[1], scatter, c[2], wait,
                                       c[3], scatterWait}));
}

/// A gradient of 100 bytes from the first of three operations, which is
/// scattered to 25; the last needs 60 bytes for itself.
struct ScatterExample {
  explicit ScatterExample(int64_t releasingNs) {
    first = step.multiply(100, 100, {});
    scatter = step.start(releasingNs, 25, first);
    shard = step.wait(scatter);
    second = step.finish(100, 0, {});
    third = step.finish(100, 0, {second});
    step.addScratch(third, 60);
  }

  StepBuilder step;
  Tensor first, second, third, shard;
  Started scatter;
};

TEST(StepConstruction, WaitsForScattersWhenThatCostsNothing) {
  ScatterExample during(100);
  EXPECT_EQ(Constructor(during.step.problem).construct(),
            (Order{during.first.node, during.scatter.start, during.second.node,
                   during.shard.node, during.third.node}));
  ScatterExample longer(101);
  EXPECT_EQ(Constructor(longer.step.problem).construct(),
            (Order{longer.first.node, longer.scatter.start, longer.second.node,
                   longer.third.node, longer.shard.node}));
}

TEST(StepConstruction, WaitsForScattersWhenTheMemoryIsNeeded) {
  ScatterExample example(1000);
  Constructor constructor(example.step.problem);
  ConstructionOptions options;
  options.limitBytes = 100 + 25 + 60;
  EXPECT_EQ(constructor.construct(options).back(), example.shard.node);
  --options.limitBytes;
  EXPECT_EQ(
      constructor.construct(options),
      (Order{example.first.node, example.scatter.start, example.second.node,
             example.shard.node, example.third.node}));
}

TEST(StepConstruction, LeavesRoomForWhatScattersHold) {
  ScatterExample example(150);
  StepBuilder &step = example.step;
  Started gather = step.start(100, 80, step.addArgument(0));
  Tensor weight = step.wait(gather);
  Tensor fourth = step.finish(100, 0, {example.third, weight});
  ConstructionOptions options;
  // The third has room beside the scatter, or beside the gather.
  options.limitBytes = 100 + 25 + 60;
  EXPECT_EQ(Constructor(step.problem).construct(options),
            (Order{example.first.node, example.scatter.start,
                   example.second.node, example.third.node, example.shard.node,
                   gather.start, weight.node, fourth.node}));
}

TEST(StepConstruction, CountsWhatTheNextOperationNeedsOnce) {
  StepBuilder step;
  Tensor first = step.multiply(100, 100, {});
  Started scatter = step.start(1000, 25, first, /*stream=*/1);
  Tensor shard = step.wait(scatter);
  Started gather = step.start(1, 80, step.addArgument(0));
  Tensor weight = step.wait(gather);
  Tensor second = step.multiply(100, 0, {weight});
  Constructor constructor(step.problem);
  ConstructionOptions options;
  options.lookAheadNs = 0;
  // The limit allows for the weight beside the scatter, so no wait is needed.
  options.limitBytes = 100 + 25 + 80;
  EXPECT_EQ(constructor.construct(options),
            (Order{first.node, gather.start, scatter.start, weight.node,
                   second.node, shard.node}));
}

TEST(StepConstruction, ReducesAcrossReplicasBesideTheNextOperation) {
  StepBuilder step;
  Tensor first = step.multiply(100, 80, {});
  Started scatter = step.start(60, 20, first, /*stream=*/0);
  Tensor shard = step.wait(scatter);
  Started reduction = step.start(60, 20, shard, /*stream=*/1);
  Tensor sum = step.wait(reduction);
  Tensor second = step.finish(100, 10, {step.addArgument(10)});
  Tensor third = step.finish(100, 10, {second});
  Tensor fourth = step.finish(100, 10, {third});
  EXPECT_EQ(Constructor(step.problem).construct(),
            (Order{first.node, scatter.start, second.node, shard.node,
                   reduction.start, third.node, sum.node, fourth.node}));
}

TEST(StepConstruction, ExclusiveStreamsTakeTurns) {
  // With two streams of their own both would be over at 100.
  Problem problem;
  auto [a, waitA] = addGather(problem, 100, /*stream=*/0);
  auto [b, waitB] = addGather(problem, 100, /*stream=*/1);
  NodeId first = addCompute(problem, 100);
  NodeId second = addCompute(problem, 100, {first, waitA});
  NodeId third = addCompute(problem, 100, {second, waitB});
  Constructor constructor(problem);
  EXPECT_EQ(constructor.construct(),
            (Order{a, b, first, waitA, second, waitB, third}));
  ConstructionOptions options;
  options.contention.exclusive = {{0, 1}};
  // The second would only queue until the first operation is over.
  EXPECT_EQ(constructor.construct(options),
            (Order{a, first, b, waitA, second, waitB, third}));
}

} // namespace
