//===- RunStateTest.cpp - Tests of the state of a partial schedule --------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Model/RunState.h"
#include "ReferenceSimulator.h"
#include "Step/IssuedOrder.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

/// Issues `order` and compares each state with the reference.
void checkAgainstReference(const Problem &problem, const Order &order) {
  ReferenceSimulator reference(problem, order);
  int64_t stepNs = reference.run();
  MemoryTimeline memory = *simulateMemory(problem, order);
  RunState state(problem);
  Clocks clocks(problem);
  int64_t nowNs = 0;
  for (size_t position = 0; position < order.size(); ++position) {
    NodeId node = order[position];
    Clocks::Interval interval = clocks.issue(node);
    ASSERT_EQ(interval.beginNs, reference.begins()[node]);
    ASSERT_EQ(interval.endNs, reference.ends()[node]);
    // The compute stream stands still from when it reaches a wait or a blocking
    // collective until that ends.
    bool holds = problem.kind(node) == NodeKind::Wait ||
                 problem.kind(node) == NodeKind::Blocking;
    ASSERT_EQ(interval.exposedNs, holds ? interval.endNs - nowNs : 0);
    if (problem.kind(node) != NodeKind::Start)
      nowNs = interval.endNs;
    ASSERT_EQ(clocks.nowNs(), nowNs);
    if (problem.isCollective(node)) {
      ASSERT_EQ(clocks.endNs(node), interval.endNs);
      ASSERT_EQ(clocks.streamEndsNs()[problem.stream(node)], interval.endNs);
    }

    ASSERT_EQ(state.issue(node), memory.allocatedBytes[position]);
    ASSERT_EQ(state.liveBytes(), memory.remainingBytes[position]);
    ASSERT_EQ(state.clocks().nowNs(), clocks.nowNs());
    ASSERT_EQ(state.clocks().streamEndsNs(), clocks.streamEndsNs());
  }
  ASSERT_EQ(clocks.stepNs(), stepNs);
}

TEST(RunState, AgreesWithTheReferenceOnRandomProblems) {
  for (uint64_t seed : Seeds(500)) {
    RandomProblemOptions shape;
    shape.maxStreams = 4;
    shape.unevenBuffers = seed % 2;
    shape.shuffleProgram = seed % 3 == 0;
    Problem problem = makeRandomProblem(seed, shape);
    checkAgainstReference(problem, makeRandomOrder(seed, problem));
    if (::testing::Test::HasFatalFailure())
      return;
  }
}

TEST(RunState, StepEndsWhenAllStreamsAreIdle) {
  TextProblem problem("s = start 200; wait s; a = 50");
  Clocks clocks(problem);
  clocks.issue(problem["s"]);
  clocks.issue(problem["a"]);
  EXPECT_EQ(clocks.nowNs(), 50);
  EXPECT_EQ(clocks.stepNs(), 200);
  clocks.issue(problem["s'"]);
  EXPECT_EQ(clocks.nowNs(), 200);
}

TEST(RunState, HeldStreamsAndOtherDurations) {
  TextProblem problem("s = start 200; wait s");
  NodeId start = problem["s"], wait = problem["s'"];
  Clocks clocks(problem);
  clocks.holdStream(problem.stream(start), 70);
  // A hold that ends earlier changes nothing.
  clocks.holdStream(problem.stream(start), 60);
  Clocks::Interval interval = clocks.issue(start, /*durationNs=*/300);
  EXPECT_EQ(interval.beginNs, 70);
  EXPECT_EQ(interval.endNs, 370);
  EXPECT_EQ(clocks.nowNs(), 0);
  EXPECT_EQ(clocks.issue(wait).exposedNs, 370);
}

TEST(RunState, ReportsEachFreedBufferOnce) {
  for (uint64_t seed : Seeds(200)) {
    Problem problem = makeRandomProblem(seed, {});
    LiveBytes live(problem);
    std::vector<int32_t> numFreed(problem.numBuffers());
    for (NodeId node : makeRandomOrder(seed, problem))
      live.issue(node, [&](BufferId id) { ++numFreed[id]; });
    for (BufferId id = 0; id < problem.numBuffers(); ++id) {
      const Buffer &buffer = problem.buffer(id);
      bool hasEnd = buffer.freed &&
                    (buffer.producer != noNode || !problem.users(id).empty());
      ASSERT_EQ(numFreed[id], hasEnd ? 1 : 0);
    }
  }
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
  ASSERT_EQ(issued.takeOrder(), order);
}

/// With exclusive streams if the seed is odd.
TEST(IssuedOrder, EqualsTheSimulations) {
  int numDelayed = 0;
  for (uint64_t seed : Seeds(1000)) {
    RandomProblemOptions shape;
    shape.maxStreams = 4;
    shape.unevenBuffers = seed % 4 < 2;
    Problem problem = makeRandomProblem(seed, shape);
    Order order = makeRandomOrder(seed, problem);
    Random random(seed);
    Contention contention;
    for (StreamId a = 0; a < problem.numStreams(); ++a)
      for (StreamId b = 0; b < a; ++b)
        if (seed % 2 && random.percent(50))
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
