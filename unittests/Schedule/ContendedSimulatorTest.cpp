//===- ContendedSimulatorTest.cpp - Tests of the contention model ---------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Model/Simulator.h"

#include "../Seeds.h"
#include "RandomProblem.h"
#include "ReferenceContendedSimulator.h"
#include "TestProblems.h"

#include <gtest/gtest.h>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::schedule::testing;
using mlir::commsched::testing::Seeds;

namespace {

/// Simulates the program, which has to work.
Timeline run(Problem &problem, const Contention &contention) {
  problem.finalize();
  Result<Timeline> timeline =
      simulate(problem, programOrder(problem), contention);
  EXPECT_TRUE(timeline) << timeline.error();
  return timeline ? *timeline : Timeline();
}

/// Adds a start for each cost, on streams 0, 1, ….
void addStarts(Problem &problem, std::initializer_list<int64_t> costs) {
  StreamId stream = 0;
  for (int64_t cost : costs)
    addStart(problem, cost, {}, stream++);
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

//===----------------------------------------------------------------------===//
// Links
//===----------------------------------------------------------------------===//

TEST(ContendedSimulator, CollectivesShareALink) {
  // Three until 3, two until 5, one until 6.
  Problem problem;
  addStarts(problem, {1, 2, 3});
  for (NodeId start : {0, 1, 2})
    problem.addWait(start);
  Timeline timeline = run(problem, sharing({0, 0, 0}));
  EXPECT_EQ(timeline.endNs, (std::vector<int64_t>{3, 5, 6, 3, 5, 6}));
  EXPECT_EQ(timeline.beginNs, (std::vector<int64_t>{0, 0, 0, 0, 3, 5}));
  EXPECT_EQ(timeline.exposedNs, (std::vector<int64_t>{3, 2, 1, 3, 2, 1}));
  EXPECT_EQ(timeline.commNs, 6);
}

TEST(ContendedSimulator, EndsMoveWhenOthersBegin) {
  // One alone until 1, three until 4, two until 6, one until 7.
  Problem problem;
  addStart(problem, 3, {}, 0);
  addCompute(problem, 1);
  addStart(problem, 3, {}, 1);
  addStart(problem, 1, {}, 2);
  for (NodeId start : {0, 2, 3})
    problem.addWait(start);
  Timeline timeline = run(problem, sharing({7, 7, 7}));
  EXPECT_EQ(timeline.endNs[0], 6);
  EXPECT_EQ(timeline.endNs[2], 7);
  EXPECT_EQ(timeline.endNs[3], 4);
}

TEST(ContendedSimulator, WhatEndsBetweenEndsAtTheLater) {
  Problem problem;
  addStart(problem, 2, {}, 0);
  addCompute(problem, 1);
  addStart(problem, 2, {}, 1);
  addCompute(problem, 1);
  addStart(problem, 1, {}, 2);
  for (NodeId start : {0, 2, 4})
    problem.addWait(start);
  Timeline timeline = run(problem, sharing({0, 0, 0}));
  // At 2 they have 1/2, 3/2 and 1 to go, in the order in which they began. The
  // first is over at 3 1/2; at 4 the others have 5/6 and 1/3 to go and share
  // the link, until the third is over at 4 2/3; the second has 1/3 left at 5.
  EXPECT_EQ(timeline.endNs[0], 4);
  EXPECT_EQ(timeline.endNs[4], 5);
  EXPECT_EQ(timeline.endNs[2], 6);
}

TEST(ContendedSimulator, OtherLinksAreFree) {
  Problem problem;
  addStarts(problem, {10, 10, 10, 10, 10});
  for (NodeId start = 0; start < 5; ++start)
    problem.addWait(start);
  Timeline timeline = run(problem, sharing({3, -1, 2'000'000'000, 3, -1}));
  timeline.endNs.resize(5);
  EXPECT_EQ(timeline.endNs, (std::vector<int64_t>{20, 10, 10, 20, 10}));
}

TEST(ContendedSimulator, AStreamIsInOrderOnItsLink) {
  // 0 and 2 share the link until 20; then 1 follows 0 on its stream, alone.
  Problem problem;
  addStart(problem, 10, {}, 0);
  addStart(problem, 10, {}, 0);
  addStart(problem, 10, {}, 1);
  for (NodeId start : {0, 1, 2})
    problem.addWait(start);
  Timeline timeline = run(problem, sharing({0, 0}));
  EXPECT_EQ(timeline.endNs[0], 20);
  EXPECT_EQ(timeline.beginNs[1], 20);
  EXPECT_EQ(timeline.endNs[1], 30);
  EXPECT_EQ(timeline.endNs[2], 20);
}

TEST(ContendedSimulator, UpToSixteenSharersLoseNothing) {
  for (StreamId numSharers = 1; numSharers <= 16; ++numSharers) {
    Problem problem;
    for (StreamId stream = 0; stream < numSharers; ++stream)
      addStart(problem, 1, {}, stream);
    addCompute(problem, 1);
    // Lets all the others be looked at, at 1.
    NodeId empty = addStart(problem, 0, {}, numSharers);
    for (NodeId start = 0; start < numSharers; ++start)
      problem.addWait(start);
    problem.addWait(empty);
    std::vector<int32_t> links(static_cast<size_t>(numSharers) + 1, 0);
    EXPECT_EQ(run(problem, sharing(links)).endNs[0], numSharers);
  }
}

TEST(ContendedSimulator, ManySharersLoseLittle) {
  // A seventeenth is no whole number of the parts that are counted.
  Problem problem;
  const int64_t numStreams = 1000;
  for (StreamId stream = 0; stream < numStreams; ++stream)
    addStart(problem, 1000 + stream, {}, stream);
  for (NodeId start = 0; start < numStreams; ++start)
    problem.addWait(start);
  Timeline timeline =
      run(problem, sharing(std::vector<int32_t>(numStreams, 0)));
  EXPECT_GE(timeline.stepNs, timeline.commNs);
  EXPECT_LE(timeline.stepNs, timeline.commNs + numStreams);
}

//===----------------------------------------------------------------------===//
// Exclusive streams
//===----------------------------------------------------------------------===//

TEST(ContendedSimulator, ExclusiveStreamsTakeTurns) {
  Problem problem;
  addStart(problem, 10, {}, 0);
  addStart(problem, 5, {}, 1);
  // On the first stream, which would be free at 10, but behind the second.
  addStart(problem, 4, {}, 0);
  // Exclusive with the second stream, which is not in flight yet.
  addStart(problem, 3, {}, 2);
  // Exclusive with none.
  addStart(problem, 8, {}, 3);
  for (NodeId start = 0; start < 5; ++start)
    problem.addWait(start);
  Contention contention;
  contention.exclusive = {{0, 1}, {2, 1}};
  Timeline timeline = run(problem, contention);
  timeline.beginNs.resize(5);
  timeline.endNs.resize(5);
  EXPECT_EQ(timeline.beginNs, (std::vector<int64_t>{0, 10, 15, 15, 0}));
  EXPECT_EQ(timeline.endNs, (std::vector<int64_t>{10, 15, 19, 18, 8}));
}

TEST(ContendedSimulator, BlockingWaitsForExclusiveStreams) {
  Problem problem;
  addStart(problem, 10, {}, 0);
  NodeId blocking = problem.addNode(NodeKind::Blocking, 5, 1);
  NodeId compute = addCompute(problem, 1);
  problem.addWait(0);
  Contention contention;
  contention.exclusive = {{1, 0}};
  Timeline timeline = run(problem, contention);
  EXPECT_EQ(timeline.beginNs[blocking], 10);
  EXPECT_EQ(timeline.exposedNs[blocking], 15);
  EXPECT_EQ(timeline.endNs[compute], 16);
  EXPECT_EQ(timeline.stepNs, 16);
}

TEST(ContendedSimulator, ExclusiveStreamsHaveTheLinkToThemselves) {
  Problem problem;
  addStarts(problem, {10, 10});
  problem.addWait(0);
  problem.addWait(1);
  Contention contention = sharing({0, 0});
  contention.exclusive = {{0, 1}};
  Timeline timeline = run(problem, contention);
  EXPECT_EQ(timeline.endNs[0], 10);
  EXPECT_EQ(timeline.endNs[1], 20);
}

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

TEST(ContendedSimulator, ComputationSlowsDownBesideACollective) {
  // 119 ns beside the collective do 100 ns of work; 100 ns alone follow.
  Problem problem;
  addStart(problem, 119);
  addCompute(problem, 200);
  addCompute(problem, 50);
  problem.addWait(0);
  Timeline timeline = run(problem, slowingDown({190'000}));
  EXPECT_EQ(timeline.endNs, (std::vector<int64_t>{119, 219, 269, 269}));
  EXPECT_EQ(timeline.computeNs, 250);
  EXPECT_EQ(timeline.slowdownNs, 19);
  EXPECT_EQ(timeline.exposedCommNs, 19);
  EXPECT_EQ(timeline.exposedNs[0], 0);
}

TEST(ContendedSimulator, ShortComputationIsAsSlowAsCanBe) {
  // 50 ns take 59.5, 10 ns 11.9, each rounded up.
  Problem problem;
  addStart(problem, 119);
  addCompute(problem, 50);
  addCompute(problem, 10);
  problem.addWait(0);
  Timeline timeline = run(problem, slowingDown({190'000}));
  EXPECT_EQ(timeline.endNs, (std::vector<int64_t>{119, 60, 72, 119}));
  EXPECT_EQ(timeline.slowdownNs, 12);
  EXPECT_EQ(timeline.exposedCommNs, 59);
  EXPECT_EQ(timeline.exposedNs[0], 47);
}

TEST(ContendedSimulator, TwoCollectivesSlowDownNoMoreThanOne) {
  Problem problem;
  addStarts(problem, {20, 20});
  addCompute(problem, 10);
  problem.addWait(0);
  problem.addWait(1);
  EXPECT_EQ(run(problem, slowingDown({1'000'000, 1'000'000})).endNs[2], 20);
}

TEST(ContendedSimulator, CopyEnginesLeaveComputationAlone) {
  // Half speed until 10, when the collective ends; the copy goes on until 30.
  Problem problem;
  addStarts(problem, {30, 10});
  addCompute(problem, 40);
  problem.addWait(0);
  problem.addWait(1);
  Timeline timeline = run(problem, slowingDown({0, 1'000'000}));
  EXPECT_EQ(timeline.endNs[2], 45);
  EXPECT_EQ(timeline.slowdownNs, 5);
  EXPECT_EQ(run(problem, slowingDown({0, 0})).slowdownNs, 0);
}

TEST(ContendedSimulator, TheLargestSlowdownInFlightApplies) {
  // Half speed until 20, then two thirds until 30, and full speed: 10 ns and
  // 6 2/3 ns of work, and 23 1/3 ns of the rest.
  Problem problem;
  addStarts(problem, {20, 30, 10});
  addCompute(problem, 40);
  for (NodeId start : {0, 1, 2})
    problem.addWait(start);
  Timeline timeline = run(problem, slowingDown({1'000'000, 500'000, 500'000}));
  EXPECT_EQ(timeline.endNs[3], 54);
  EXPECT_EQ(timeline.slowdownNs, 14);
}

TEST(ContendedSimulator, ManySlowdownsAreRoundedUp) {
  // Relatively prime: they have no common multiple of 62 bits. Each computation
  // takes place beside one collective, and 1 ns is more than all roundings.
  const std::vector<int64_t> slowdowns = {3, 33, 37, 39, 81, 99};
  Problem problem;
  std::vector<NodeId> computes;
  for (StreamId stream = 0; stream < 6; ++stream) {
    NodeId start = addStart(problem, 3'000'000'000, {}, stream);
    computes.push_back(addCompute(problem, 2'000'000'000));
    problem.addWait(start);
  }
  Timeline timeline = run(problem, slowingDown(slowdowns));
  for (size_t i = 0; i < computes.size(); ++i) {
    int64_t ns = timeline.endNs[computes[i]] - timeline.beginNs[computes[i]];
    int64_t exactNs = 2'000 * (1'000'000 + slowdowns[i]);
    EXPECT_GE(ns, exactNs);
    EXPECT_LE(ns, exactNs + 1);
  }
}

//===----------------------------------------------------------------------===//
// Input
//===----------------------------------------------------------------------===//

TEST(ContendedSimulator, LargeCostsDoNotOverflow) {
  constexpr int64_t large = int64_t(1) << 59;
  Problem problem;
  addStarts(problem, {large, large});
  addCompute(problem, large);
  problem.addWait(0);
  problem.addWait(1);
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

  Problem two;
  addStarts(two, {1, 1});
  two.addWait(0);
  two.addWait(1);
  ASSERT_TRUE(two.finalize());
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

//===----------------------------------------------------------------------===//
// Random problems
//===----------------------------------------------------------------------===//

Contention makeRandomContention(std::mt19937_64 &random, StreamId numStreams) {
  Contention contention;
  if (random() % 4 > 0)
    for (StreamId first = 0; first < numStreams; ++first)
      for (StreamId second = 0; second < first; ++second)
        if (random() % 3 == 0)
          contention.exclusive.push_back({first, second});
  if (random() % 4 > 0)
    for (StreamId stream = 0; stream < numStreams; ++stream)
      contention.links.push_back(static_cast<int32_t>(random() % 3) - 1);
  // Sometimes for more streams than there are, or the same for all.
  constexpr int64_t slowdowns[] = {0, 190'000, 1, 1'500'000, 500'000};
  if (random() % 4 > 0)
    for (size_t stream = 0; stream < numStreams + random() % 2; ++stream)
      contention.slowdownPpm.push_back(slowdowns[random() % 5]);
  if (random() % 4 == 0)
    contention.slowdownPpm.assign(numStreams, slowdowns[random() % 5]);
  return contention;
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
    std::mt19937_64 random(seed);
    Contention contention = makeRandomContention(random, problem.numStreams());
    Result<Timeline> timeline = simulate(problem, order, contention);
    ASSERT_TRUE(timeline) << "seed " << seed << ": " << timeline.error();
    ReferenceContendedSimulator reference(problem, order, contention);
    ASSERT_EQ(timeline->stepNs, reference.run()) << "seed " << seed;
    ASSERT_EQ(timeline->beginNs, reference.begins()) << "seed " << seed;
    ASSERT_EQ(timeline->endNs, reference.ends()) << "seed " << seed;
  }
}

TEST(ContendedSimulator, NothingIsFasterThanWithoutContention) {
  for (uint64_t seed : Seeds(500)) {
    Problem problem = makeRandomProblem(seed, manyStreams(seed));
    Order order = makeRandomOrder(seed, problem);
    std::mt19937_64 random(seed);
    Contention contention = makeRandomContention(random, problem.numStreams());
    Timeline contended = *simulate(problem, order, contention);
    Timeline plain = *simulate(problem, order);
    EXPECT_EQ(contended.computeNs, plain.computeNs);
    EXPECT_EQ(contended.commNs, plain.commNs);
    int64_t lost = contended.slowdownNs;
    for (NodeId node : order) {
      EXPECT_GE(contended.beginNs[node], plain.beginNs[node])
          << "seed " << seed;
      EXPECT_GE(contended.endNs[node], plain.endNs[node]) << "seed " << seed;
      if (problem.isCollective(node))
        lost += contended.exposedNs[node];
    }
    EXPECT_EQ(contended.exposedCommNs, lost) << "seed " << seed;
    EXPECT_EQ(contended.exposedCommNs, contended.stepNs - contended.computeNs);
  }
}

TEST(ContendedSimulator, NoneIsThePlainSimulation) {
  for (uint64_t seed : Seeds(500)) {
    Problem problem = makeRandomProblem(seed, manyStreams(seed));
    Order order = makeRandomOrder(seed, problem);
    Timeline plain = *simulate(problem, order);
    // No contention is set, or it affects no operation.
    for (const Contention &contention :
         {Contention(),
          sharing(std::vector<int32_t>(problem.numStreams(), -1))}) {
      Timeline timeline = *simulate(problem, order, contention);
      EXPECT_EQ(timeline.beginNs, plain.beginNs) << "seed " << seed;
      EXPECT_EQ(timeline.endNs, plain.endNs) << "seed " << seed;
      EXPECT_EQ(timeline.exposedNs, plain.exposedNs) << "seed " << seed;
      EXPECT_EQ(timeline.stepNs, plain.stepNs) << "seed " << seed;
      EXPECT_EQ(timeline.slowdownNs, 0) << "seed " << seed;
    }
  }
}

} // namespace
