//===- LowerBoundTest.cpp - The bound against all orders --------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/LowerBound.h"

#include "CommSched/Schedule/ListScheduler.h"
#include "CommSched/Schedule/Simulator.h"

#include "RandomProblem.h"
#include "TestProblems.h"

#include <gtest/gtest.h>

using namespace commsched;
using namespace commsched::testing;

namespace {

/// Simulates every legal order, up to a limit.
class AllOrders {
public:
  explicit AllOrders(const Problem &problem) : problem(problem) {
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      missing.push_back(problem.predecessors(node).size());
    extend();
  }
  int64_t bestNs = -1;
  int64_t count = 0;

private:
  static constexpr int64_t limit = 5000;

  void extend() {
    if (order.size() == missing.size()) {
      Result<Timeline> timeline = simulate(problem, order);
      ASSERT_TRUE(timeline) << timeline.error();
      if (count++ == 0 || timeline->stepNs < bestNs)
        bestNs = timeline->stepNs;
      return;
    }
    for (NodeId node = 0; node < problem.numNodes() && count < limit; ++node) {
      if (missing[node] != 0)
        continue;
      --missing[node];
      for (DependenceEnd end : problem.successors(node))
        --missing[end.node];
      order.push_back(node);
      extend();
      order.pop_back();
      for (DependenceEnd end : problem.successors(node))
        ++missing[end.node];
      ++missing[node];
    }
  }

  const Problem &problem;
  // A scheduled operation counts below zero and is not taken again.
  std::vector<int64_t> missing;
  Order order;
};

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
  int64_t orders = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    RandomProblemOptions options;
    options.maxNodes = 8;
    options.maxStreams = 2;
    options.shuffleProgram = seed % 2;
    Problem problem = makeRandomProblem(seed, options);
    AllOrders all(problem);
    ASSERT_GT(all.count, 0) << "seed " << seed;
    Result<LowerBound> bound = computeLowerBound(problem);
    ASSERT_TRUE(bound) << bound.error();
    EXPECT_LE(bound->ns(), all.bestNs) << "seed " << seed;
    reached += bound->ns() == all.bestNs;
    orders += all.count;
  }
  // A bound that is often the optimum is no empty promise.
  EXPECT_GT(reached, 200);
  EXPECT_GT(orders, 10000);
}

TEST(LowerBound, LargeProblemsKeepAboveIt) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
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
