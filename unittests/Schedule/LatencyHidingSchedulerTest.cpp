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

#include "../Seeds.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/Simulator.h"
#include "CommSched/Schedule/Model/Verify.h"
#include "RandomProblem.h"
#include "TestProblems.h"

#include <gtest/gtest.h>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::schedule::testing;
using mlir::commsched::testing::Seeds;

namespace {

/// A collective: its start and its wait.
struct Pair {
  NodeId start;
  NodeId wait;
};

Pair addPair(Problem &problem, int64_t costNs,
             std::initializer_list<NodeId> operands = {}, StreamId stream = 0) {
  NodeId start = addStart(problem, costNs, operands, stream);
  return {start, problem.addWait(start)};
}

Order schedule(Problem &problem, LatencyHidingOptions options = {}) {
  EXPECT_TRUE(problem.finalize());
  Result<LatencyHidingSchedule> result = hideLatency(problem, options);
  EXPECT_TRUE(result) << result.error();
  return result ? result->order : Order();
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
  Problem problem;
  Pair gather = addPair(problem, 50);
  NodeId first = addCompute(problem, 40);
  NodeId second = addCompute(problem, 40);
  NodeId root = addCompute(problem, 1, {gather.wait, first, second});
  EXPECT_EQ(schedule(problem),
            (Order{gather.start, first, second, gather.wait, root}));
}

TEST(LatencyHidingScheduler, SharesComputeBetweenWindows) {
  Problem problem;
  Pair one = addPair(problem, 50), two = addPair(problem, 50);
  NodeId first = addCompute(problem, 60);
  NodeId second = addCompute(problem, 60);
  NodeId root = addCompute(problem, 1, {one.wait, two.wait, first, second});
  EXPECT_EQ(schedule(problem), (Order{one.start, first, one.wait, two.start,
                                      second, two.wait, root}));
}

TEST(LatencyHidingScheduler, ViewsDoNotOpenAWindow) {
  Problem problem;
  Pair gather = addPair(problem, 50);
  NodeId view = addCompute(problem, 0, {gather.wait});
  NodeId product = addCompute(problem, 60);
  NodeId root = addCompute(problem, 1, {view, product});
  EXPECT_EQ(schedule(problem),
            (Order{gather.start, product, gather.wait, view, root}));
}

TEST(LatencyHidingScheduler, OneCollectiveOfAStreamIsInFlight) {
  Problem problem;
  std::vector<Pair> pairs;
  NodeId sum = addCompute(problem, 1);
  for (int layer = 0; layer < 3; ++layer) {
    pairs.push_back(addPair(problem, 50));
    NodeId product = addCompute(problem, 60, {sum});
    sum = addCompute(problem, 1, {product, pairs.back().wait});
  }
  Order order = schedule(problem);
  EXPECT_EQ(countInFlight(problem, order), 1);
  Positions at = *invert(problem, order);
  for (int layer = 0; layer < 2; ++layer)
    EXPECT_LT(at[pairs[layer].wait], at[pairs[layer + 1].start]);
  // Every window holds the product of its layer.
  EXPECT_EQ(simulate(problem, order)->exposedCommNs, 0);
}

TEST(LatencyHidingScheduler, NothingToHideBehindMovesNothing) {
  Problem problem;
  NodeId source = addCompute(problem, 1);
  Pair permute = addPair(problem, 50, {source});
  EXPECT_EQ(schedule(problem), (Order{source, permute.start, permute.wait}));
}

TEST(LatencyHidingScheduler, ADependentCollectiveFollowsTheFirst) {
  Problem problem;
  NodeId source = addCompute(problem, 10);
  Pair one = addPair(problem, 50, {source});
  Pair two = addPair(problem, 50, {one.wait});
  NodeId user = addCompute(problem, 10, {two.wait});
  EXPECT_EQ(schedule(problem),
            (Order{source, one.start, one.wait, two.start, two.wait, user}));
}

TEST(LatencyHidingScheduler, AsManyAreInFlightAsAllowed) {
  for (int32_t limit = 1; limit <= 6; ++limit) {
    Problem problem;
    std::vector<Pair> pairs;
    NodeId product = addCompute(problem, 100);
    for (int i = 0; i < 5; ++i)
      pairs.push_back(addPair(problem, 50));
    NodeId root = addCompute(problem, 1, {product});
    for (Pair pair : pairs)
      problem.addDependence(pair.wait, root, DependenceKind::Data);
    LatencyHidingOptions options;
    options.maxInFlight = limit;
    Order order = schedule(problem, options);
    EXPECT_EQ(countInFlight(problem, order), std::min(limit, 5));
    if (limit >= 5) {
      for (int i = 0; i < 5; ++i)
        EXPECT_EQ(problem.kind(order[i]), NodeKind::Start);
    }
  }
}

TEST(LatencyHidingScheduler, TwoWindowsOfTwoShareTheCompute) {
  Problem problem;
  Pair pairs[4];
  for (Pair &pair : pairs)
    pair = addPair(problem, 50);
  NodeId first = addCompute(problem, 60, {});
  NodeId second = addCompute(problem, 60, {first});
  addCompute(
      problem, 1,
      {pairs[0].wait, pairs[1].wait, pairs[2].wait, pairs[3].wait, second});
  LatencyHidingOptions options;
  options.maxInFlight = 2;
  Order order = schedule(problem, options);
  Positions at = *invert(problem, order);
  auto isAround = [&](Pair pair, NodeId node) {
    return at[pair.start] < at[node] && at[node] < at[pair.wait];
  };
  EXPECT_TRUE(isAround(pairs[0], first) && isAround(pairs[1], first));
  EXPECT_TRUE(isAround(pairs[2], second) && isAround(pairs[3], second));
  EXPECT_EQ(countInFlight(problem, order), 2);
}

TEST(LatencyHidingScheduler, WhatTakesLongerStartsEarlier) {
  for (bool isFirstLarge : {false, true}) {
    Problem problem;
    Pair one = addPair(problem, isFirstLarge ? 80 : 20, {}, 0);
    Pair two = addPair(problem, isFirstLarge ? 20 : 80, {}, 1);
    NodeId product = addCompute(problem, 30);
    addCompute(problem, 1, {one.wait, two.wait, product});
    Order order = schedule(problem);
    EXPECT_EQ(order[0], isFirstLarge ? one.start : two.start);
    EXPECT_EQ(order[1], isFirstLarge ? two.start : one.start);
  }
}

TEST(LatencyHidingScheduler, ABlockingCollectiveNeedsAPlaceInTheStream) {
  for (StreamId stream : {0, 1}) {
    Problem problem;
    Pair gather = addPair(problem, 50);
    NodeId barrier = problem.addNode(NodeKind::Blocking, 30, stream);
    NodeId root = addCompute(problem, 1, {gather.wait, barrier});
    Order order = schedule(problem);
    Order expected = stream == 0
                         ? Order{barrier, gather.start, gather.wait, root}
                         : Order{gather.start, barrier, gather.wait, root};
    EXPECT_EQ(order, expected);
  }
}

//===----------------------------------------------------------------------===//
// Rules that decide when all before them do not. Of two operations the one
// that has to come later has the smaller index.
//===----------------------------------------------------------------------===//

TEST(LatencyHidingScheduler, AStartAfterNoCollectiveComesEarly) {
  Problem problem;
  NodeId first = addCompute(problem, 20), second = addCompute(problem, 20);
  Pair gather = addPair(problem, 10);
  EXPECT_EQ(schedule(problem),
            (Order{gather.start, first, second, gather.wait}));
}

TEST(LatencyHidingScheduler, WhatFollowsCollectivesComesLate) {
  Problem problem;
  Pair gather = addPair(problem, 10);
  NodeId user = addCompute(problem, 20, {gather.wait});
  NodeId end = addCompute(problem, 20, {user});
  NodeId other = addCompute(problem, 20);
  Positions at = *invert(problem, schedule(problem));
  EXPECT_LT(at[other], at[end]);
}

TEST(LatencyHidingScheduler, ComputeThatFillsTheWindowGoesFirst) {
  Problem problem;
  NodeId large = addCompute(problem, 50), small = addCompute(problem, 10);
  Pair gather = addPair(problem, 50);
  EXPECT_EQ(schedule(problem),
            (Order{gather.start, small, large, gather.wait}));
}

TEST(LatencyHidingScheduler, WhatUsesAWaitComesLate) {
  Problem problem;
  Pair gather = addPair(problem, 10);
  NodeId user = addCompute(problem, 20, {gather.wait});
  NodeId middle = addCompute(problem, 20, {gather.wait});
  NodeId indirect = addCompute(problem, 20, {middle});
  Positions at = *invert(problem, schedule(problem));
  EXPECT_LT(at[indirect], at[user]);
}

TEST(LatencyHidingScheduler, WhatMakesMoreReadyComesLate) {
  Problem problem;
  NodeId one = addCompute(problem, 20), two = addCompute(problem, 20);
  NodeId both = addCompute(problem, 20, {one, two});
  NodeId three = addCompute(problem, 20);
  NodeId single = addCompute(problem, 20, {three});
  Positions at = *invert(problem, schedule(problem));
  EXPECT_LT(at[single], at[both]);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Adds a buffer that `producer` makes and `user` is the last to use.
void addBuffer(Problem &problem, int64_t bytes, NodeId producer, NodeId user) {
  problem.addUse(problem.addBuffer(bytes, producer, true), user);
}

TEST(LatencyHidingScheduler, UnderPressureWhatLiesDeepestAndFreesGoesLast) {
  Problem problem;
  auto addChain = [&](int length) {
    NodeId last = addCompute(problem, 10);
    for (int i = 1; i < length; ++i)
      last = addCompute(problem, 10, {last});
    return last;
  };
  NodeId g = addChain(3), h = addChain(2), f = addChain(1);
  NodeId deepest = addChain(4);
  NodeId root = addCompute(problem, 10, {f, g, h, deepest});
  for (NodeId node : {f, g, h})
    addBuffer(problem, 8, node, root);
  // The deepest operation needs memory.
  addBuffer(problem, 1, noNode, deepest);
  LatencyHidingOptions options;
  options.limitBytes = 0;
  options.reducesPressureByDepth = true;
  Order order = schedule(problem, options);
  Positions at = *invert(problem, order);
  EXPECT_LT(at[deepest], at[f]);
  EXPECT_LT(at[f], at[h]);
  EXPECT_LT(at[h], at[g]);
}

TEST(LatencyHidingScheduler, OverTheLimitWhatFreesMostGoesLast) {
  Problem problem;
  NodeId much = addCompute(problem, 10), little = addCompute(problem, 10);
  NodeId root = addCompute(problem, 10, {much, little});
  addBuffer(problem, 20, much, root);
  addBuffer(problem, 10, little, root);
  LatencyHidingOptions options;
  EXPECT_EQ(schedule(problem, options), (Order{much, little, root}));
  options.limitBytes = 0;
  EXPECT_EQ(schedule(problem, options), (Order{little, much, root}));
}

TEST(LatencyHidingScheduler, NearTheLimitWhatFreesGoesLast) {
  Problem problem;
  NodeId freeing = addCompute(problem, 10), other = addCompute(problem, 10);
  NodeId root = addCompute(problem, 10, {freeing, other});
  addBuffer(problem, 10, freeing, root);
  LatencyHidingOptions options;
  options.limitBytes = 20;
  EXPECT_EQ(schedule(problem, options), (Order{freeing, other, root}));
  options.limitBytes = 15;
  EXPECT_EQ(schedule(problem, options), (Order{other, freeing, root}));
}

/// A gather that may start before or after an operation that needs much.
struct Pressure {
  Problem problem;
  Pair gather;
  NodeId large, small, root;

  Pressure() {
    gather = addPair(problem, 50);
    large = addCompute(problem, 60);
    small = addCompute(problem, 10, {large});
    root = addCompute(problem, 1, {gather.wait, small});
    addBuffer(problem, 80, large, small);
    addBuffer(problem, 10, small, root);
    BufferId gathered = problem.addBuffer(40, gather.start, true);
    problem.addUse(gathered, gather.wait);
    problem.addUse(gathered, root);
    problem.finalize();
  }

  Order early() const {
    return {gather.start, large, small, gather.wait, root};
  }
  Order late() const { return {large, small, gather.start, gather.wait, root}; }
};

TEST(LatencyHidingScheduler, WithoutALimitMemoryDoesNotCount) {
  Pressure p;
  Result<LatencyHidingSchedule> result = hideLatency(p.problem, {});
  ASSERT_TRUE(result) << result.error();
  EXPECT_EQ(result->order, p.early());
  EXPECT_EQ(result->peakBytes, 130);
}

TEST(LatencyHidingScheduler, MemoryCountsFromHalfOfTheLimit) {
  // Once the root is there, 50 bytes are live.
  Pressure p;
  LatencyHidingOptions options;
  options.limitBytes = 100;
  EXPECT_EQ(hideLatency(p.problem, options)->order, p.early());
  options.limitBytes = 99;
  EXPECT_EQ(hideLatency(p.problem, options)->order, p.late());
}

TEST(LatencyHidingScheduler, AnotherRunHasNineTenthsOfTheLimit) {
  Pressure p;
  LatencyHidingOptions options;
  options.limitBytes = 100;
  options.numReruns = 3;
  Result<LatencyHidingSchedule> result = hideLatency(p.problem, options);
  ASSERT_TRUE(result) << result.error();
  EXPECT_EQ(result->order, p.late());
  EXPECT_EQ(result->peakBytes, 90);
  EXPECT_EQ(result->numReruns, 1);
}

TEST(LatencyHidingScheduler, ReasonsToRunAgainEnd) {
  Pressure p;
  LatencyHidingOptions options;
  options.limitBytes = 80;
  options.numReruns = 3;
  Result<LatencyHidingSchedule> result = hideLatency(p.problem, options);
  ASSERT_TRUE(result) << result.error();
  EXPECT_EQ(result->peakBytes, 90);
  EXPECT_EQ(result->numReruns, 3);
}

//===----------------------------------------------------------------------===//
// Any problem
//===----------------------------------------------------------------------===//

TEST(LatencyHidingScheduler, AnyPreferencesGiveALegalSchedule) {
  int numOverlapping = 0;
  for (uint64_t seed : Seeds(1000)) {
    SCOPED_TRACE("seed " + std::to_string(seed));
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
    Result<LatencyHidingSchedule> result = hideLatency(problem, options);
    ASSERT_TRUE(result) << result.error();
    EXPECT_TRUE(verify(problem, result->order));
    EXPECT_EQ(result->peakBytes,
              simulateMemory(problem, result->order)->peakBytes);
    numOverlapping += countInFlight(problem, result->order) > 1;
    // The same again.
    EXPECT_EQ(hideLatency(problem, options)->order, result->order);
  }
  EXPECT_GT(numOverlapping, 30);
}

TEST(LatencyHidingScheduler, PreferencesComeFirst) {
  Problem problem;
  for (int i = 0; i < 4; ++i)
    addCompute(problem, 10);
  LatencyHidingOptions options;
  options.preferences = {3, 1, 4, 2};
  EXPECT_EQ(schedule(problem, options), (Order{1, 3, 0, 2}));
}

TEST(LatencyHidingScheduler, HidesTheGathersOfALargeProgram) {
  Problem problem;
  NodeId last = addCompute(problem, 1);
  std::vector<Pair> scatters;
  for (int layer = 0; layer < 1000; ++layer) {
    Pair gather = addPair(problem, 50);
    last = addCompute(problem, 100, {last, gather.wait});
    addBuffer(problem, 100, gather.start, last);
    scatters.push_back(addPair(problem, 40, {last}, 1));
  }
  ASSERT_TRUE(problem.finalize());
  for (bool isLimited : {false, true}) {
    LatencyHidingOptions options;
    if (isLimited)
      options.limitBytes = 200;
    Result<LatencyHidingSchedule> result = hideLatency(problem, options);
    ASSERT_TRUE(result) << result.error();
    // All but the first gather and the last reduce-scatter.
    EXPECT_LE(simulate(problem, result->order)->exposedCommNs, 50 + 40);
  }
}

TEST(LatencyHidingScheduler, RefusesOptionsThatMeanNothing) {
  Problem problem;
  addCompute(problem, 1);
  problem.finalize();
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
