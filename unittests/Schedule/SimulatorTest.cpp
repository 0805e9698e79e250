//===- SimulatorTest.cpp - Tests of the time model ------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Model/Simulator.h"

#include "../Seeds.h"
#include "RandomProblem.h"
#include "ReferenceSimulator.h"
#include "TestProblems.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::schedule::testing;
using mlir::commsched::testing::Seeds;

namespace {

TEST(Simulator, TimelineExample) {
  using Example = TimelineExample;
  Example example;
  Result<Timeline> timeline =
      simulate(example.problem, programOrder(example.problem));
  ASSERT_TRUE(timeline) << timeline.error();
  EXPECT_EQ(timeline->stepNs, 170);
  EXPECT_EQ(timeline->computeNs, 110);
  EXPECT_EQ(timeline->commNs, 150);
  EXPECT_EQ(timeline->exposedCommNs, 60);
  EXPECT_EQ(timeline->beginNs,
            (std::vector<int64_t>{0, 0, 100, 60, 100, 130, 150}));
  EXPECT_EQ(timeline->endNs,
            (std::vector<int64_t>{100, 60, 150, 100, 130, 150, 170}));
  EXPECT_EQ(timeline->exposedNs[Example::gatherA], 40);
  EXPECT_EQ(timeline->exposedNs[Example::waitA], 40);
  EXPECT_EQ(timeline->exposedNs[Example::gatherB], 20);
  EXPECT_EQ(timeline->exposedNs[Example::waitB], 20);
  EXPECT_EQ(timeline->exposedNs[Example::mm], 0);
}

TEST(Simulator, LargestCostsDoNotOverflow) {
  Problem problem;
  int64_t half = std::numeric_limits<int64_t>::max() / 2;
  NodeId start = addStart(problem, half);
  problem.addWait(start);
  addCompute(problem, half, {1});
  problem.finalize();
  Result<Timeline> timeline = simulate(problem, programOrder(problem));
  ASSERT_TRUE(timeline) << timeline.error();
  EXPECT_EQ(timeline->stepNs, 2 * half);
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

/// All collectives first, then wait and compute in turn: a pipeline of two
/// machines, whose length is max over k of (sum of collectives up to k + sum of
/// computes from k on).
TEST(Simulator, PrefetchedChainIsATwoMachinePipeline) {
  for (uint64_t seed : Seeds(100)) {
    std::mt19937_64 random(seed);
    size_t length = 1 + random() % 12;
    std::vector<int64_t> gathers(length), computes(length);
    Problem problem;
    for (size_t i = 0; i < length; ++i) {
      gathers[i] = static_cast<int64_t>(random() % 20);
      computes[i] = static_cast<int64_t>(random() % 20);
      addStart(problem, gathers[i]);
    }
    for (size_t i = 0; i < length; ++i) {
      NodeId wait = problem.addWait(static_cast<NodeId>(i));
      addCompute(problem, computes[i], {wait});
    }
    problem.finalize();
    int64_t expected = 0;
    for (size_t k = 0; k < length; ++k) {
      int64_t before =
          std::accumulate(gathers.begin(), gathers.begin() + k + 1, int64_t(0));
      int64_t after =
          std::accumulate(computes.begin() + k, computes.end(), int64_t(0));
      expected = std::max(expected, before + after);
    }
    Result<Timeline> timeline = simulate(problem, programOrder(problem));
    ASSERT_TRUE(timeline) << timeline.error();
    EXPECT_EQ(timeline->stepNs, expected) << "seed " << seed;
  }
}

TEST(Simulator, AgreesWithTheTickingReference) {
  for (uint64_t seed : Seeds(2000)) {
    RandomProblemOptions options;
    options.shuffleProgram = seed % 2;
    Problem problem = makeRandomProblem(seed, options);
    Order order = makeRandomOrder(seed, problem);
    Result<Timeline> timeline = simulate(problem, order);
    ASSERT_TRUE(timeline) << "seed " << seed << ": " << timeline.error();
    ReferenceSimulator reference(problem, order);
    ASSERT_EQ(timeline->stepNs, reference.run()) << "seed " << seed;
    EXPECT_EQ(timeline->beginNs, reference.begins()) << "seed " << seed;
    EXPECT_EQ(timeline->endNs, reference.ends()) << "seed " << seed;

    // The sum of the stalls is the exposed time.
    int64_t stalls = 0;
    for (NodeId node : order)
      if (problem.isCollective(node))
        stalls += timeline->exposedNs[node];
    EXPECT_EQ(timeline->exposedCommNs, stalls) << "seed " << seed;
  }
}

} // namespace
