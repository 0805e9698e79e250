//===- LatencyHidingSchedulerTest.cpp - Tests of the model of XLA ---------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The scheduler does in XLA's own test scenarios what XLA's does.
//
//===----------------------------------------------------------------------===//

#include "LatencyHidingScheduler.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

Order scheduleNodes(const Problem &problem,
                    const LatencyHidingOptions &options = {}) {
  Result<LatencyHidingSchedule> result = hideLatency(problem, options);
  EXPECT_TRUE(result) << result.error();
  return result ? result->order : Order();
}

std::string tellHidden(const TextProblem &problem,
                       const LatencyHidingOptions &options = {}) {
  return problem.tell(scheduleNodes(problem, options));
}

/// Whether the first of two operations comes first in the schedule.
bool isFirst(const TextProblem &problem, const std::string &first,
             const std::string &second,
             const LatencyHidingOptions &options = {}) {
  Positions at = *invert(problem, scheduleNodes(problem, options));
  return at[problem[first]] < at[problem[second]];
}

/// The largest number of collectives of one stream between start and wait.
int32_t countInFlight(const Problem &problem, const Order &order) {
  std::vector<int32_t> inFlight(problem.numStreams());
  int32_t most = 0;
  for (NodeId node : order) {
    if (problem.kind(node) == NodeKind::Start)
      most = std::max(most, ++inFlight[problem.stream(node)]);
    else if (problem.kind(node) == NodeKind::Wait)
      --inFlight[problem.stream(problem.startOf(node))];
  }
  return most;
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

TEST(LatencyHidingScheduler, PutsAllComputeIntoTheWindow) {
  EXPECT_EQ(
      tellHidden({"g = start 50; wait g; a = 40; b = 40; root = 1 g' a b"}),
      "g a b g' root");
}

TEST(LatencyHidingScheduler, SharesComputeBetweenWindows) {
  EXPECT_EQ(tellHidden({R"(g = start 50; wait g; h = start 50; wait h; a = 60
                         b = 60; root = 1 g' h' a b)"}),
            "g a g' h b h' root");
}

TEST(LatencyHidingScheduler, ViewsDoNotOpenAWindow) {
  EXPECT_EQ(tellHidden({"g = start 50; wait g; view = 0 g'; product = 60; "
                        "root = 1 view product"}),
            "g product g' view root");
}

TEST(LatencyHidingScheduler, OneCollectiveOfAStreamIsInFlight) {
  TextProblem problem("sum-1 = 1;" + repeat(3, R"(
    g$ = start 50; wait g$; product$ = 60 sum^; sum$ = 1 product$ g$')"));
  Order order = scheduleNodes(problem);
  EXPECT_EQ(countInFlight(problem, order), 1);
  EXPECT_TRUE(isFirst(problem, "g0'", "g1"));
  EXPECT_TRUE(isFirst(problem, "g1'", "g2"));
  // Every window holds the product of its layer.
  EXPECT_EQ(simulate(problem, order)->exposedCommNs, 0);
}

TEST(LatencyHidingScheduler, NothingToHideBehindMovesNothing) {
  EXPECT_EQ(tellHidden({"source = 1; p = start 50 source; wait p"}),
            "source p p'");
}

TEST(LatencyHidingScheduler, ADependentCollectiveFollowsTheFirst) {
  EXPECT_EQ(tellHidden({"source = 10; g = start 50 source; wait g; "
                        "h = start 50 g'; wait h; user = 10 h'"}),
            "source g g' h h' user");
}

TEST(LatencyHidingScheduler, AsManyAreInFlightAsAllowed) {
  TextProblem problem("product = 100;" + repeat(5, "g$ = start 50; wait g$") +
                      "root = 1 product g0' g1' g2' g3' g4'");
  for (int32_t limit = 1; limit <= 6; ++limit) {
    LatencyHidingOptions options;
    options.maxInFlight = limit;
    Order order = scheduleNodes(problem, options);
    EXPECT_EQ(countInFlight(problem, order), std::min(limit, 5));
    if (limit >= 5) {
      for (int i = 0; i < 5; ++i)
        EXPECT_EQ(problem.kind(order[i]), NodeKind::Start);
    }
  }
}

TEST(LatencyHidingScheduler, TwoWindowsOfTwoShareTheCompute) {
  TextProblem problem(repeat(4, "g$ = start 50; wait g$") +
                      "a = 60; b = 60 a; root = 1 g0' g1' g2' g3' b");
  LatencyHidingOptions options;
  options.maxInFlight = 2;
  for (const char *name : {"g0", "g1", "g2", "g3"}) {
    const char *within = name < std::string("g2") ? "a" : "b";
    EXPECT_TRUE(isFirst(problem, name, within, options)) << name;
    EXPECT_TRUE(isFirst(problem, within, name + std::string("'"), options));
  }
  EXPECT_EQ(countInFlight(problem, scheduleNodes(problem, options)), 2);
}

TEST(LatencyHidingScheduler, WhatTakesLongerStartsEarlier) {
  const std::string rest = "; wait g; wait h; product = 30; "
                           "root = 1 g' h' product";
  EXPECT_TRUE(isFirst("g = start 80; h = start 20@1" + rest, "g", "h"));
  EXPECT_TRUE(isFirst("g = start 20; h = start 80@1" + rest, "h", "g"));
}

TEST(LatencyHidingScheduler, ABlockingCollectiveNeedsAPlaceInTheStream) {
  EXPECT_EQ(tellHidden({"g = start 50; wait g; barrier = blocking 30; "
                        "root = 1 g' barrier"}),
            "barrier g g' root");
  EXPECT_EQ(tellHidden({"g = start 50; wait g; barrier = blocking 30@1; "
                        "root = 1 g' barrier"}),
            "g barrier g' root");
}

//===----------------------------------------------------------------------===//
// Rules that decide when all before them do not. Of two operations the one
// that has to come later has the smaller index.
//===----------------------------------------------------------------------===//

TEST(LatencyHidingScheduler, AStartAfterNoCollectiveComesEarly) {
  EXPECT_EQ(tellHidden({"a = 20; b = 20; g = start 10; wait g"}), "g a b g'");
}

TEST(LatencyHidingScheduler, WhatFollowsCollectivesComesLate) {
  EXPECT_TRUE(isFirst({"g = start 10; wait g; user = 20 g'; end = 20 user; "
                       "other = 20"},
                      "other", "end"));
}

TEST(LatencyHidingScheduler, ComputeThatFillsTheWindowGoesFirst) {
  EXPECT_EQ(tellHidden({"large = 50; small = 10; g = start 50; wait g"}),
            "g small large g'");
}

TEST(LatencyHidingScheduler, WhatUsesAWaitComesLate) {
  EXPECT_TRUE(isFirst({"g = start 10; wait g; user = 20 g'; middle = 20 g'; "
                       "indirect = 20 middle"},
                      "indirect", "user"));
}

TEST(LatencyHidingScheduler, WhatMakesMoreReadyComesLate) {
  EXPECT_TRUE(isFirst({"a = 20; b = 20; both = 20 a b; c = 20; single = 20 c"},
                      "single", "both"));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

LatencyHidingOptions within(std::optional<int64_t> limitBytes,
                            int32_t numReruns = 0) {
  LatencyHidingOptions options;
  options.limitBytes = limitBytes;
  options.numReruns = numReruns;
  return options;
}

TEST(LatencyHidingScheduler, UnderPressureWhatLiesDeepestAndFreesGoesLast) {
  // The deepest operation needs memory.
  TextProblem problem(R"(
    g0 = 10; g1 = 10 g0; g = 10 g1 -> 8; h0 = 10; h = 10 h0 -> 8; f = 10 -> 8
    d0 = 10; d1 = 10 d0; d2 = 10 d1; w = arg 1; deepest = 10 d2 w
    root = 10 f g h deepest)");
  LatencyHidingOptions options = within(0);
  options.reducesPressureByDepth = true;
  EXPECT_TRUE(isFirst(problem, "deepest", "f", options));
  EXPECT_TRUE(isFirst(problem, "f", "h", options));
  EXPECT_TRUE(isFirst(problem, "h", "g", options));
}

TEST(LatencyHidingScheduler, OverTheLimitWhatFreesMostGoesLast) {
  TextProblem problem("much = 10 -> 20; little = 10 -> 10; "
                      "root = 10 much little");
  EXPECT_EQ(tellHidden(problem), "much little root");
  EXPECT_EQ(tellHidden(problem, within(0)), "little much root");
}

TEST(LatencyHidingScheduler, NearTheLimitWhatFreesGoesLast) {
  TextProblem problem("freeing = 10 -> 10; other = 10; "
                      "root = 10 freeing other");
  EXPECT_EQ(tellHidden(problem, within(20)), "freeing other root");
  EXPECT_EQ(tellHidden(problem, within(15)), "other freeing root");
}

/// A gather that may start before or after an operation that needs much.
const std::string pressure = R"(
  g = start 50 -> 40; wait g; large = 60 -> 80; small = 10 large -> 10
  root = 1 g' small)";

TEST(LatencyHidingScheduler, MemoryCountsFromHalfOfTheLimit) {
  TextProblem problem(pressure);
  const std::string early = "g large small g' root";
  const std::string late = "large small g g' root";
  EXPECT_EQ(tellHidden(problem), early);
  EXPECT_EQ(hideLatency(problem, {})->peakBytes, 130);
  // Once the root is there, 50 bytes are live.
  EXPECT_EQ(tellHidden(problem, within(100)), early);
  EXPECT_EQ(tellHidden(problem, within(99)), late);
  // Another run has nine tenths of the limit.
  EXPECT_EQ(tellHidden(problem, within(100, 3)), late);
}

TEST(LatencyHidingScheduler, ReasonsToRunAgainEnd) {
  for (auto [limitBytes, numReruns] : {std::pair(100, 1), {80, 3}}) {
    LatencyHidingSchedule result =
        need(hideLatency(TextProblem(pressure), within(limitBytes, 3)));
    EXPECT_EQ(result.peakBytes, 90);
    EXPECT_EQ(result.numReruns, numReruns);
  }
}

//===----------------------------------------------------------------------===//
// Any problem
//===----------------------------------------------------------------------===//

TEST(LatencyHidingScheduler, AnyPreferencesGiveALegalSchedule) {
  int numOverlapping = 0;
  for (uint64_t seed : Seeds(1000)) {
    RandomProblemOptions random;
    random.maxNodes = seed % 4 ? 40 : 120;
    random.impliedPercent = seed % 3 ? 0 : 50;
    random.waitsMakeBuffers = seed % 2;
    Problem problem = makeRandomProblem(seed, random);
    int64_t programPeak =
        simulateMemory(problem, programOrder(problem))->peakBytes;
    LatencyHidingOptions options;
    options.maxInFlight = 1 + seed % 3;
    if (seed % 5)
      options.limitBytes = programPeak * static_cast<int64_t>(seed % 5) / 4;
    options.reducesPressureByDepth = seed % 7 < 3;
    options.numReruns = seed % 2 * 3;
    if (seed % 2)
      for (NodeId node = 0; node < problem.numNodes(); ++node)
        options.preferences.push_back(node * 7919 % 31);
    LatencyHidingSchedule result = need(hideLatency(problem, options));
    EXPECT_TRUE(verify(problem, result.order));
    EXPECT_EQ(result.peakBytes,
              simulateMemory(problem, result.order)->peakBytes);
    numOverlapping += countInFlight(problem, result.order) > 1;
    // The same again.
    EXPECT_EQ(hideLatency(problem, options)->order, result.order);
  }
  EXPECT_GT(numOverlapping, 30);
}

TEST(LatencyHidingScheduler, PreferencesComeFirst) {
  LatencyHidingOptions options;
  options.preferences = {3, 1, 4, 2};
  EXPECT_EQ(tellHidden({"a = 10; b = 10; c = 10; d = 10"}, options), "b d a c");
}

TEST(LatencyHidingScheduler, HidesTheGathersOfALargeProgram) {
  TextProblem problem("last-1 = 1;" + repeat(1000, R"(
    g$ = start 50 -> 100; wait g$; last$ = 100 last^ g$'
    s$ = start 40@1 last$; wait s$)"));
  for (std::optional<int64_t> limitBytes :
       {std::optional<int64_t>(), std::optional<int64_t>(200)}) {
    LatencyHidingSchedule result =
        need(hideLatency(problem, within(limitBytes)));
    // All but the first gather and the last reduce-scatter.
    EXPECT_LE(simulate(problem, result.order)->exposedCommNs, 50 + 40);
  }
}

TEST(LatencyHidingScheduler, RefusesOptionsThatMeanNothing) {
  TextProblem problem("a = 1");
  LatencyHidingOptions options;
  options.maxInFlight = 0;
  EXPECT_EQ(hideLatency(problem, options).error(),
            "no collective may be in flight");
  options.maxInFlight = 1;
  options.preferences = {1, 2};
  EXPECT_EQ(hideLatency(problem, options).error(),
            "not every operation has a preference");
}

} // namespace
