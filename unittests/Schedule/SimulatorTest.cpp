//===- SimulatorTest.cpp - Tests of the time model ------------------------===//
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

TEST(Simulator, TimelineExample) {
  using Example = TimelineExample;
  Example example;
  Timeline timeline =
      need(simulate(example.problem, programOrder(example.problem)));
  EXPECT_EQ(timeline.stepNs, 170);
  EXPECT_EQ(timeline.computeNs, 110);
  EXPECT_EQ(timeline.commNs, 150);
  EXPECT_EQ(timeline.exposedCommNs, 60);
  EXPECT_EQ(timeline.beginNs,
            (std::vector<int64_t>{0, 0, 100, 60, 100, 130, 150}));
  EXPECT_EQ(timeline.endNs,
            (std::vector<int64_t>{100, 60, 150, 100, 130, 150, 170}));
  EXPECT_EQ(timeline.exposedNs[Example::gatherA], 40);
  EXPECT_EQ(timeline.exposedNs[Example::waitA], 40);
  EXPECT_EQ(timeline.exposedNs[Example::gatherB], 20);
  EXPECT_EQ(timeline.exposedNs[Example::waitB], 20);
  EXPECT_EQ(timeline.exposedNs[Example::mm], 0);
}

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

} // namespace
