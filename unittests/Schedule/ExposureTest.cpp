//===- ExposureTest.cpp - Tests of the exposed time of collectives --------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Inductor/Exposure.h"

#include "../Seeds.h"
#include "RandomProblem.h"
#include "ReferenceExposure.h"
#include "TestProblems.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::schedule::testing;
using mlir::commsched::testing::Seeds;

namespace {

/// The exposure of `node` in the program's order.
Exposure exposureOf(const Problem &problem, NodeId node,
                    ExposureWalk walk = ExposureWalk::FromStart) {
  return computeExposure(problem, programOrder(problem), walk)[node];
}

TEST(Exposure, WindowEndsAtItsOwnWait) {
  Problem problem;
  addCompute(problem, 1);
  NodeId start = addStart(problem, 10);
  NodeId compute = addCompute(problem, 4);
  NodeId wait = problem.addWait(start);
  addCompute(problem, 8);
  problem.finalize();
  EXPECT_EQ(exposureOf(problem, start).commNs, 10);
  EXPECT_EQ(exposureOf(problem, start).computeNs, 4);
  EXPECT_EQ(exposureOf(problem, start).exposedNs(), 6);
  for (NodeId node : {compute, wait}) {
    EXPECT_EQ(exposureOf(problem, node).commNs, 0);
    EXPECT_EQ(exposureOf(problem, node).computeNs, 0);
  }
}

TEST(Exposure, IsNegativeWhereComputationIsLeftOver) {
  Problem problem;
  NodeId start = addStart(problem, 10);
  addCompute(problem, 25);
  problem.addWait(start);
  problem.finalize();
  EXPECT_EQ(exposureOf(problem, start).exposedNs(), -15);
}

TEST(Exposure, WindowEndsAtTheWaitOfALaterCollectiveOfItsStream) {
  // A stream works in order: when the second is over, the first is.
  Problem problem;
  NodeId first = addStart(problem, 10);
  addCompute(problem, 1);
  NodeId second = addStart(problem, 10);
  addCompute(problem, 2);
  problem.addWait(second);
  addCompute(problem, 4);
  problem.addWait(first);
  problem.finalize();
  EXPECT_EQ(exposureOf(problem, first).computeNs, 3);
  EXPECT_EQ(exposureOf(problem, second).computeNs, 2);
  // From its wait, what follows the second hides that one.
  EXPECT_EQ(exposureOf(problem, first, ExposureWalk::FromWait).computeNs, 1);
  EXPECT_EQ(exposureOf(problem, second, ExposureWalk::FromWait).computeNs, 2);
}

TEST(Exposure, WindowPassesTheWaitOfALaterCollectiveOfAnotherStream) {
  Problem problem;
  NodeId first = addStart(problem, 10);
  addCompute(problem, 1);
  NodeId second = addStart(problem, 10, {}, /*stream=*/1);
  addCompute(problem, 2);
  problem.addWait(second);
  addCompute(problem, 4);
  problem.addWait(first);
  problem.finalize();
  EXPECT_EQ(exposureOf(problem, first).computeNs, 7);
  EXPECT_EQ(exposureOf(problem, second).computeNs, 2);
  // From the wait streams do not matter.
  EXPECT_EQ(exposureOf(problem, first, ExposureWalk::FromWait).computeNs, 1);
}

TEST(Exposure, WindowEndsAtABlockingCollectiveOfAnyStream) {
  Problem problem;
  NodeId start = addStart(problem, 10);
  addCompute(problem, 1);
  NodeId barrier = problem.addNode(NodeKind::Blocking, 7, /*stream=*/1);
  addCompute(problem, 2);
  problem.addWait(start);
  problem.finalize();
  EXPECT_EQ(exposureOf(problem, start).computeNs, 1);
  EXPECT_EQ(exposureOf(problem, start, ExposureWalk::FromWait).computeNs, 1);
  EXPECT_EQ(exposureOf(problem, start).windowEnd, barrier);
  EXPECT_EQ(exposureOf(problem, barrier).commNs, 7);
  EXPECT_EQ(exposureOf(problem, barrier).computeNs, 0);
}

TEST(Exposure, AgreesWithAWalkThroughEveryWindow) {
  int numForeignEnds[2] = {0, 0};
  for (uint64_t seed : Seeds(800)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomProblemOptions options;
    options.maxNodes = seed % 10 == 0 ? 120 : 40;
    options.shuffleProgram = seed % 2;
    Problem problem = makeRandomProblem(seed, options);
    Order order = makeRandomOrder(seed, problem);
    std::vector<int64_t> times;
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      times.push_back(
          problem.kind(node) == NodeKind::Compute ? problem.costNs(node) : 0);
    Result<EditableSchedule> schedule =
        EditableSchedule::create(problem, order, times);
    ASSERT_TRUE(schedule) << schedule.error();
    for (ExposureWalk walk :
         {ExposureWalk::FromStart, ExposureWalk::FromWait}) {
      bool isForward = walk == ExposureWalk::FromStart;
      std::vector<Exposure> exposures = computeExposure(problem, order, walk);
      ASSERT_EQ(exposures.size(), order.size());
      for (NodeId node = 0; node < problem.numNodes(); ++node) {
        SCOPED_TRACE("node " + std::to_string(node) +
                     (isForward ? " from its start" : " from its wait"));
        Exposure expected = walkWindow(problem, order, node, walk);
        ASSERT_EQ(exposures[node].commNs, expected.commNs);
        ASSERT_EQ(exposures[node].computeNs, expected.computeNs);
        if (problem.kind(node) != NodeKind::Start)
          continue;
        NodeId end = findWindowEnd(*schedule, node, walk);
        ASSERT_EQ(exposures[node].windowEnd, end);
        ASSERT_EQ(getHidingTime(*schedule, node, end), expected.computeNs);
        int64_t toOwnWait = schedule->getTree()
                                .range(schedule->position(node),
                                       schedule->position(problem.waitOf(node)))
                                .computeTime;
        numForeignEnds[isForward] += toOwnWait != expected.computeNs;
      }
    }
  }
  EXPECT_GT(numForeignEnds[true], 150);
  EXPECT_GT(numForeignEnds[false], 150);
}

TEST(ExposureTrade, CountsOnlyWhatIsExposed) {
  ExposureTrade trade;
  trade.own = 5;
  trade.others = {-3, 2};
  EXPECT_EQ(trade.exposedAfter(0), 5 + 0 + 2);
  EXPECT_EQ(trade.exposedAfter(3), 2 + 0 + 5);
  EXPECT_EQ(trade.exposedAfter(4), 1 + 1 + 6);
  EXPECT_EQ(trade.exposedAfter(9), 0 + 6 + 11);
  // One for one until the other is exposed as well.
  EXPECT_EQ(trade.turningPoint(), 3);
}

} // namespace
