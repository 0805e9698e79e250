//===- RunStateTest.cpp - Tests of the state of a partial schedule --------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Model/RunState.h"
#include "ReferenceSimulator.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

/// The live bytes while the operation at `position` of `order` runs, and after
/// it: the sum over all buffers, by the text of the memory model.
int64_t sumLiveBytes(const Problem &problem, const Order &order,
                     size_t position, bool after) {
  auto positionOf = [&](NodeId node) {
    return static_cast<size_t>(std::find(order.begin(), order.end(), node) -
                               order.begin());
  };
  int64_t sum = 0;
  for (BufferId id = 0; id < problem.numBuffers(); ++id) {
    const Buffer &buffer = problem.buffer(id);
    if (buffer.producer != noNode && positionOf(buffer.producer) > position)
      continue;
    bool hasEnd = buffer.freed &&
                  (buffer.producer != noNode || !problem.users(id).empty());
    size_t last = buffer.producer == noNode ? 0 : positionOf(buffer.producer);
    for (NodeId user : problem.users(id))
      last = std::max(last, positionOf(user));
    if (!hasEnd || last > position || (last == position && !after))
      sum += buffer.bytes;
  }
  return sum;
}

/// Issues `order` and compares each state with the reference.
void checkAgainstReference(const Problem &problem, const Order &order) {
  ReferenceSimulator reference(problem, order);
  int64_t stepNs = reference.run();
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

    ASSERT_EQ(state.issue(node),
              sumLiveBytes(problem, order, position, /*after=*/false));
    ASSERT_EQ(state.liveBytes(),
              sumLiveBytes(problem, order, position, /*after=*/true));
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

TEST(RunState, CopiesAreIndependent) {
  for (uint64_t seed : Seeds(100)) {
    Problem problem = makeRandomStep(seed, /*maxLayers=*/2);
    const Order &order = problem.topologicalOrder();
    RunState first(problem);
    for (size_t position = 0; position < order.size() / 2; ++position)
      first.issue(order[position]);
    RunState second = first;
    for (size_t position = order.size() / 2; position < order.size();
         ++position) {
      int64_t liveBytes = second.liveBytes(), nowNs = second.clocks().nowNs();
      int64_t peakBytes = first.issue(order[position]);
      ASSERT_EQ(second.liveBytes(), liveBytes);
      ASSERT_EQ(second.clocks().nowNs(), nowNs);
      ASSERT_EQ(second.issue(order[position]), peakBytes);
      ASSERT_EQ(second.liveBytes(), first.liveBytes());
      ASSERT_EQ(second.clocks().nowNs(), first.clocks().nowNs());
    }
  }
}

} // namespace
