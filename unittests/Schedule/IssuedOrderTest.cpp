//===- IssuedOrderTest.cpp - Tests of orders under construction -----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Step/IssuedOrder.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

/// Issues `order` and compares each state with the simulations.
void checkAlong(const Problem &problem, const Order &order,
                const Contention &contention) {
  Timeline timeline = *simulate(problem, order, contention);
  MemoryTimeline memory = *simulateMemory(problem, order);
  IssuedOrder issued(problem, contention.exclusive);
  ASSERT_EQ(issued.liveBytes(), memory.initialBytes);
  int64_t nowNs = 0, computedNs = 0;
  for (size_t place = 0; place < order.size(); ++place) {
    NodeId node = order[place];
    bool isCollective = problem.isCollective(node);
    int64_t beginNs = nowNs;
    if (isCollective)
      beginNs = std::max(nowNs, issued.freeNs(problem.stream(node)));
    ASSERT_EQ(beginNs, timeline.beginNs[node]);
    int64_t before = issued.liveBytes();
    ASSERT_FALSE(issued.contains(node));
    issued.issue(node);
    ASSERT_TRUE(issued.contains(node));
    if (problem.kind(node) != NodeKind::Start)
      nowNs = timeline.endNs[node];
    if (problem.kind(node) == NodeKind::Compute)
      computedNs += problem.costNs(node);
    if (isCollective) {
      ASSERT_EQ(issued.endNs(node), timeline.endNs[node]);
    }
    ASSERT_EQ(issued.nowNs(), nowNs);
    ASSERT_EQ(issued.computedNs(), computedNs);
    ASSERT_EQ(issued.liveBytes(), memory.remainingBytes[place]);
    ASSERT_EQ(issued.takePeak(),
              std::max(before, memory.allocatedBytes[place]));
  }
  ASSERT_EQ(issued.order(), order);
  ASSERT_EQ(issued.takeOrder(), order);
}

TEST(IssuedOrder, EqualsTheSimulations) {
  for (uint64_t seed : Seeds(500)) {
    RandomProblemOptions shape;
    shape.maxStreams = 4;
    shape.unevenBuffers = seed % 2;
    Problem problem = makeRandomProblem(seed, shape);
    Order order = makeRandomOrder(seed, problem);
    checkAlong(problem, order, {});
    if (::testing::Test::HasFatalFailure())
      return;
  }
}

TEST(IssuedOrder, EqualsTheSimulationOfExclusiveStreams) {
  int numDelayed = 0;
  for (uint64_t seed : Seeds(500)) {
    RandomProblemOptions shape;
    shape.maxStreams = 4;
    Problem problem = makeRandomProblem(seed, shape);
    Order order = makeRandomOrder(seed, problem);
    Random random(seed);
    Contention contention;
    for (StreamId a = 0; a < problem.numStreams(); ++a)
      for (StreamId b = 0; b < a; ++b)
        if (random.percent(50))
          contention.exclusive.push_back({a, b});
    checkAlong(problem, order, contention);
    if (::testing::Test::HasFatalFailure())
      return;
    numDelayed += simulate(problem, order, contention)->stepNs >
                  simulate(problem, order)->stepNs;
  }
  EXPECT_GT(numDelayed, 15);
}

} // namespace
