//===- ExposureTest.cpp - Tests of the exposed time of collectives --------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Inductor/Exposure.h"
#include "ReferenceExposure.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

/// The exposures in the order of the program.
struct Exposures {
  Exposures(const std::string &text)
      : problem(text), fromStart(computeExposure(problem, programOrder(problem),
                                                 ExposureWalk::FromStart)),
        fromWait(computeExposure(problem, programOrder(problem),
                                 ExposureWalk::FromWait)) {}

  const Exposure &of(const std::string &name) const {
    return fromStart[problem[name]];
  }
  /// The computation from the start on, and back from the wait.
  std::pair<int64_t, int64_t> computed(const std::string &name) const {
    return {of(name).computeNs, fromWait[problem[name]].computeNs};
  }

  TextProblem problem;
  std::vector<Exposure> fromStart, fromWait;
};

using Ns = std::pair<int64_t, int64_t>;

TEST(Exposure, WindowEndsAtItsOwnWait) {
  Exposures exposures("a = 1; s = start 10; b = 4; wait s; c = 8");
  EXPECT_EQ(exposures.of("s").commNs, 10);
  EXPECT_EQ(exposures.of("s").computeNs, 4);
  EXPECT_EQ(exposures.of("s").exposedNs(), 6);
  for (const char *name : {"b", "s'"}) {
    EXPECT_EQ(exposures.of(name).commNs, 0);
    EXPECT_EQ(exposures.of(name).computeNs, 0);
  }
  // Negative where computation is left over.
  EXPECT_EQ(Exposures("s = start 10; b = 25; wait s").of("s").exposedNs(), -15);
}

TEST(Exposure, WindowEndsAtTheWaitOfALaterCollectiveOfItsStream) {
  // A stream works in order: when the second is over, the first is. From its
  // wait, what follows the second hides that one.
  Exposures exposures(R"(
    s = start 10; a = 1; t = start 10; b = 2; wait t; c = 4; wait s)");
  EXPECT_EQ(exposures.computed("s"), Ns(3, 1));
  EXPECT_EQ(exposures.computed("t"), Ns(2, 2));
}

TEST(Exposure, WindowPassesTheWaitOfALaterCollectiveOfAnotherStream) {
  // From the wait streams do not matter.
  Exposures exposures(R"(
    s = start 10; a = 1; t = start 10@1; b = 2; wait t; c = 4; wait s)");
  EXPECT_EQ(exposures.computed("s"), Ns(7, 1));
  EXPECT_EQ(exposures.of("t").computeNs, 2);
}

TEST(Exposure, WindowEndsAtABlockingCollectiveOfAnyStream) {
  Exposures exposures(
      "s = start 10; a = 1; barrier = blocking 7@1; b = 2; wait s");
  EXPECT_EQ(exposures.computed("s"), Ns(1, 1));
  EXPECT_EQ(exposures.of("s").windowEnd, exposures.problem["barrier"]);
  EXPECT_EQ(exposures.of("barrier").commNs, 7);
  EXPECT_EQ(exposures.of("barrier").computeNs, 0);
}

TEST(Exposure, AgreesWithAWalkThroughEveryWindow) {
  int numForeignEnds[2] = {0, 0};
  for (uint64_t seed : Seeds(800)) {
    Problem problem = makeEitherProblem(seed, seed % 10 == 0 ? 120 : 40);
    Order order = makeRandomOrder(seed, problem);
    std::vector<int64_t> times;
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      times.push_back(
          problem.kind(node) == NodeKind::Compute ? problem.costNs(node) : 0);
    EditableSchedule schedule =
        need(EditableSchedule::create(problem, order, times));
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
        NodeId end = findWindowEnd(schedule, node, walk);
        ASSERT_EQ(exposures[node].windowEnd, end);
        ASSERT_EQ(getHidingTime(schedule, node, end), expected.computeNs);
        int64_t toOwnWait = schedule.getTree()
                                .range(schedule.position(node),
                                       schedule.position(problem.waitOf(node)))
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
