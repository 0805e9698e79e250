//===- SimulatorTest.cpp - Tests of the models of time and memory ---------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Model/Simulator.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "Model/RunState.h"
#include "ReferenceSimulator.h"
#include "Step/IssuedOrder.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

TEST(Simulator, LargestCostsDoNotOverflow) {
  TextProblem problem("s = start 4611686018427387903; wait s; "
                      "a = 4611686018427387903 s'");
  EXPECT_EQ(simulate(problem, programOrder(problem))->stepNs,
            std::numeric_limits<int64_t>::max() - 1);
}

TEST(Simulator, RejectsWhatItCannotRun) {
  TimelineExample example;
  EXPECT_EQ(simulate(example.problem, {0, 1}).error(),
            "the order has 2 entries for a problem of 7 nodes");
  EXPECT_EQ(simulate(example.problem, {3, 1, 2, 0, 4, 5, 6}).error(),
            "node 3 (wait) at position 0 comes before its node 0 (start) at "
            "position 3");
  Problem open;
  EXPECT_EQ(simulate(open, {}).error(), "the problem is not finalized");
}

TEST(Simulator, AgreesWithTheTickingReference) {
  for (uint64_t seed : Seeds(2000)) {
    Problem problem = makeEitherProblem(seed);
    Order order = makeRandomOrder(seed, problem);
    Timeline timeline = need(simulate(problem, order));
    ReferenceSimulator reference(problem, order);
    ASSERT_EQ(timeline.stepNs, reference.run());
    EXPECT_EQ(timeline.beginNs, reference.begins());
    EXPECT_EQ(timeline.endNs, reference.ends());

    // The sum of the stalls is the exposed time.
    int64_t stalls = 0;
    for (NodeId node : order)
      if (problem.isCollective(node))
        stalls += timeline.exposedNs[node];
    EXPECT_EQ(timeline.exposedCommNs, stalls);
  }
}

/// Simulates the program, which has to work.
Timeline run(const Problem &problem, const Contention &contention) {
  return need(simulate(problem, programOrder(problem), contention));
}

Contention sharing(std::vector<int32_t> links) {
  Contention contention;
  contention.links = std::move(links);
  return contention;
}

Contention slowingDown(std::vector<int64_t> ppm) {
  Contention contention;
  contention.slowdownPpm = std::move(ppm);
  return contention;
}

TEST(ContendedSimulator, LargeCostsDoNotOverflow) {
  constexpr int64_t large = int64_t(1) << 59;
  const std::string cost = std::to_string(large);
  TextProblem problem("a = start " + cost + "; b = start " + cost +
                      "@1; c = " + cost + "; wait a; wait b");
  Contention contention = sharing({0, 0});
  contention.slowdownPpm = {3'000'000, 3'000'000};
  Timeline timeline = run(problem, contention);
  // A quarter of 2^60 ns of work beside the collectives; the rest alone.
  EXPECT_EQ(timeline.endNs[0], 2 * large);
  EXPECT_EQ(timeline.endNs[1], 2 * large);
  EXPECT_EQ(timeline.endNs[2], 2 * large + large / 2);

  contention.slowdownPpm = {0, Contention::maxSlowdownPpm};
  EXPECT_EQ(simulate(problem, programOrder(problem), contention).error(),
            "the costs, with computation slowed down by 999000000 millionths, "
            "do not fit 64 bits");
}

TEST(ContendedSimulator, ChecksTheContention) {
  TimelineExample example;
  auto errorOf = [&](const Contention &contention) {
    Status status = check(contention, example.problem);
    EXPECT_EQ(
        simulate(example.problem, programOrder(example.problem), contention)
            .error(),
        status.error());
    return status.error();
  };
  Contention contention;
  contention.exclusive = {{0, 1}};
  EXPECT_EQ(errorOf(contention),
            "exclusive stream 1 is not one of the 1 of the problem");
  contention.exclusive = {{-1, 0}};
  EXPECT_EQ(errorOf(contention),
            "exclusive stream -1 is not one of the 1 of the problem");
  contention.exclusive = {{0, 0}};
  EXPECT_EQ(errorOf(contention), "stream 0 is exclusive with itself");
  EXPECT_EQ(errorOf(sharing({-2})), "stream 0 is on link -2");
  EXPECT_EQ(errorOf(slowingDown({1, -1})),
            "stream 1 slows computation down by -1 millionths, not by 0 to "
            "999000000");
  EXPECT_EQ(errorOf(slowingDown({999'000'001})),
            "stream 0 slows computation down by 999000001 millionths, not by 0 "
            "to 999000000");
  EXPECT_EQ(errorOf(slowingDown({999'000'000})), "");
  EXPECT_EQ(errorOf(slowingDown({0, 5})), "");
  EXPECT_EQ(errorOf(sharing({-1})), "");
  EXPECT_EQ(errorOf(sharing({0, 0})), "");

  TextProblem two("a = start 1; b = start 1@1; wait a; wait b");
  EXPECT_EQ(check(sharing({0}), two).error(),
            "there are links for 1 streams, but the problem has 2");
  EXPECT_EQ(check(slowingDown({5}), two).error(),
            "there are slowdowns for 1 streams, but the problem has 2");

  // Errors of the plain simulation come first.
  EXPECT_EQ(
      simulate(example.problem, {3, 1, 2, 0, 4, 5, 6}, slowingDown({1, -1}))
          .error(),
      "node 3 (wait) at position 0 comes before its node 0 (start) at "
      "position 3");
}

RandomProblemOptions manyStreams(uint64_t seed) {
  RandomProblemOptions options;
  options.shuffleProgram = seed % 2;
  options.maxStreams = 6;
  options.maxNodes = 60;
  return options;
}

TEST(ContendedSimulator, AgreesWithTheTickingReference) {
  for (uint64_t seed : Seeds(3000)) {
    Problem problem = makeRandomProblem(seed, manyStreams(seed));
    Order order = makeRandomOrder(seed, problem);
    Random random(seed);
    Contention contention = makeRandomContention(random, problem.numStreams());
    Timeline timeline = need(simulate(problem, order, contention));
    ReferenceSimulator reference(problem, order, contention);
    ASSERT_EQ(timeline.stepNs, reference.run());
    ASSERT_EQ(timeline.beginNs, reference.begins());
    ASSERT_EQ(timeline.endNs, reference.ends());
  }
}

TEST(ContendedSimulator, NothingIsFasterThanWithoutContention) {
  for (uint64_t seed : Seeds(500)) {
    Problem problem = makeRandomProblem(seed, manyStreams(seed));
    Order order = makeRandomOrder(seed, problem);
    Random random(seed);
    Contention contention = makeRandomContention(random, problem.numStreams());
    Timeline contended = *simulate(problem, order, contention);
    Timeline plain = *simulate(problem, order);
    EXPECT_EQ(contended.computeNs, plain.computeNs);
    EXPECT_EQ(contended.commNs, plain.commNs);
    int64_t lost = contended.slowdownNs;
    for (NodeId node : order) {
      EXPECT_GE(contended.beginNs[node], plain.beginNs[node]);
      EXPECT_GE(contended.endNs[node], plain.endNs[node]);
      if (problem.isCollective(node))
        lost += contended.exposedNs[node];
    }
    EXPECT_EQ(contended.exposedCommNs, lost);
    EXPECT_EQ(contended.exposedCommNs, contended.stepNs - contended.computeNs);
  }
}

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

/// Whether `buffer` is live at `position`, from nothing but the rules: while
/// the operation there runs, or (`after`) when it has ended.
bool isLive(const Problem &problem, const Order &order, BufferId id,
            size_t position, bool after) {
  const Buffer &buffer = problem.buffer(id);
  auto hasRun = [&](NodeId node, size_t end) {
    return std::find(order.begin(), order.begin() + end, node) !=
           order.begin() + end;
  };
  if (buffer.producer != noNode && !hasRun(buffer.producer, position + 1))
    return false;
  if (!buffer.freed)
    return true;
  ArrayView<NodeId> users = problem.users(id);
  if (users.empty() && buffer.producer == noNode)
    return true;
  size_t end = after ? position + 1 : position;
  bool isNeeded = buffer.producer != noNode && !hasRun(buffer.producer, end);
  for (NodeId user : users)
    isNeeded |= !hasRun(user, end);
  return isNeeded;
}

TEST(MemoryTimeline, RejectsWhatItCannotRun) {
  TimelineExample example;
  EXPECT_EQ(simulateMemory(example.problem, {}).error(),
            "the order has 0 entries for a problem of 7 nodes");
}

TEST(MemoryTimeline, RejectsPositionsThatAreNone) {
  TimelineExample example;
  Order order = programOrder(example.problem);
  EXPECT_EQ(findLive(example.problem, order, 7).error(),
            "there is no position 7 in an order of 7 nodes");
  EXPECT_EQ(findLive(example.problem, order, -2).error(),
            "there is no position -2 in an order of 7 nodes");
  EXPECT_EQ(findLive(example.problem, {}, 0).error(),
            "the order has 0 entries for a problem of 7 nodes");
}

TEST(MemoryTimeline, AgreesWithLiveSets) {
  for (uint64_t seed : Seeds(500)) {
    Problem problem = makeEitherProblem(seed);
    Order order = makeRandomOrder(seed, problem);
    MemoryTimeline memory = need(simulateMemory(problem, order));
    std::vector<BufferId> initial;
    int64_t initialBytes = 0;
    for (BufferId id = 0; id < problem.numBuffers(); ++id)
      if (problem.buffer(id).producer == noNode) {
        initial.push_back(id);
        initialBytes += problem.buffer(id).bytes;
      }
    EXPECT_EQ(memory.initialBytes, initialBytes);
    EXPECT_EQ(*findLive(problem, order, -1), initial);
    int64_t peak = -1;
    int32_t peakPosition = -1;
    for (size_t position = 0; position < order.size(); ++position) {
      int64_t during = 0, after = 0;
      std::vector<BufferId> live;
      for (BufferId id = 0; id < problem.numBuffers(); ++id) {
        int64_t bytes = problem.buffer(id).bytes;
        if (isLive(problem, order, id, position, false)) {
          during += bytes;
          live.push_back(id);
        }
        after += isLive(problem, order, id, position, true) ? bytes : 0;
      }
      std::vector<BufferId> found =
          need(findLive(problem, order, static_cast<int32_t>(position)));
      ASSERT_EQ(found, live) << "position " << position;
      ASSERT_EQ(memory.allocatedBytes[position], during)
          << "position " << position;
      ASSERT_EQ(memory.remainingBytes[position], after)
          << "position " << position;
      if (during > peak) {
        peak = during;
        peakPosition = static_cast<int32_t>(position);
      }
    }
    EXPECT_EQ(memory.peakBytes, peak);
    EXPECT_EQ(memory.peakPosition, peakPosition);
  }
}

} // namespace
