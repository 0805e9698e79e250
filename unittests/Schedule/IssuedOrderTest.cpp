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

TEST(IssuedOrder, FollowsAnExample) {
  TimelineExample example;
  IssuedOrder issued(example.problem, {});
  EXPECT_EQ(issued.liveBytes(), 6144);
  issued.issue(TimelineExample::gatherA);
  issued.issue(TimelineExample::mm);
  EXPECT_TRUE(issued.contains(TimelineExample::mm));
  EXPECT_FALSE(issued.contains(TimelineExample::gatherB));
  EXPECT_EQ(issued.nowNs(), 60);
  EXPECT_EQ(issued.freeNs(0), 100);
  EXPECT_EQ(issued.liveBytes(), 6144 + 2 * 4096);
  issued.issue(TimelineExample::gatherB);
  EXPECT_EQ(issued.endNs(TimelineExample::gatherB), 150);
  issued.issue(TimelineExample::waitA);
  EXPECT_EQ(issued.nowNs(), 100);
  EXPECT_EQ(issued.takePeak(), 6144 + 3 * 4096);
  issued.issue(TimelineExample::addA);
  // The sum is made before its operands go.
  EXPECT_EQ(issued.takePeak(), 6144 + 4 * 4096);
  EXPECT_EQ(issued.liveBytes(), 6144 + 2 * 4096);
  EXPECT_EQ(issued.takePeak(), 6144 + 2 * 4096);
  EXPECT_EQ(issued.computedNs(), 90);
  EXPECT_EQ(issued.takeOrder(), (Order{0, 1, 2, 3, 4}));
}

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
