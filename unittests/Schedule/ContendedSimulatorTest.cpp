//===- ContendedSimulatorTest.cpp - Tests of the contention model ---------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Model/Simulator.h"
#include "ReferenceSimulator.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

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

//===----------------------------------------------------------------------===//
// Links
//===----------------------------------------------------------------------===//

TEST(ContendedSimulator, CollectivesShareALink) {
  // Three until 3, two until 5, one until 6.
  TextProblem problem(
      "a = start 1; b = start 2@1; c = start 3@2; wait a; wait b; wait c");
  Timeline timeline = run(problem, sharing({0, 0, 0}));
  EXPECT_EQ(timeline.endNs, (std::vector<int64_t>{3, 5, 6, 3, 5, 6}));
  EXPECT_EQ(timeline.beginNs, (std::vector<int64_t>{0, 0, 0, 0, 3, 5}));
  EXPECT_EQ(timeline.exposedNs, (std::vector<int64_t>{3, 2, 1, 3, 2, 1}));
  EXPECT_EQ(timeline.commNs, 6);
}

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

TEST(ContendedSimulator, TheLargestSlowdownInFlightApplies) {
  // Half speed until 20, then two thirds until 30, and full speed: 10 ns and
  // 6 2/3 ns of work, and 23 1/3 ns of the rest.
  TextProblem problem(R"(a = start 20; b = start 30@1; c = start 10@2; d = 40
                         wait a; wait b; wait c)");
  Timeline timeline = run(problem, slowingDown({1'000'000, 500'000, 500'000}));
  EXPECT_EQ(timeline.endNs[3], 54);
  EXPECT_EQ(timeline.slowdownNs, 14);
}

//===----------------------------------------------------------------------===//
// Input
//===----------------------------------------------------------------------===//

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
    std::mt19937_64 random(seed);
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
      EXPECT_EQ(timeline.beginNs, plain.beginNs);
      EXPECT_EQ(timeline.endNs, plain.endNs);
      EXPECT_EQ(timeline.exposedNs, plain.exposedNs);
      EXPECT_EQ(timeline.stepNs, plain.stepNs);
      EXPECT_EQ(timeline.slowdownNs, 0);
    }
  }
}

} // namespace
