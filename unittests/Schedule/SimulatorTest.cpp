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

/// All collectives first, then wait and compute in turn: a pipeline of two
/// machines, whose length is max over k of (sum of collectives up to k + sum of
/// computes from k on).
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

} // namespace
