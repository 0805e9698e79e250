//===- ListSchedulingTest.cpp - Tests of searches for short steps ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Step/ListScheduling.h"
#include "CommSched/Schedule/Step/StepScheduler.h"
#include "CommSched/Support/Unlimited.h"
#include "ExactStep.h"
#include "Splitting/CollectiveOrders.h"
#include "Step/ComputeOrders.h"
#include "Step/SmallSteps.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

TEST(ListScheduling, ReadyComputationPassesWhatWaits) {
  TextProblem problem("s = start 10; wait s; user = 5 s'; other = 8");
  RankedOrder found = scheduleByRank(problem, rankByProgram(problem));
  EXPECT_EQ(problem.tell(found.order), "s other s' user");
  EXPECT_EQ(found.stepNs, 15);
  // Not beyond the window.
  found = scheduleByRank(problem, rankByProgram(problem), {1, {}});
  EXPECT_EQ(problem.tell(found.order), "s s' user other");
  EXPECT_EQ(found.stepNs, 23);
}

TEST(ListScheduling, FirstChunkIsIssuedBeforeTheSecondIsComputed) {
  // Of two chunks, products and what prepares the exchange.
  TextProblem problem(R"(
    a = 100; prepareA = 5 a; s = start 50 prepareA; b = 100; prepareB = 5 b
    t = start 50 prepareB; wait s; wait t)");
  RankedOrder found = scheduleByRank(problem, rankByTail(problem));
  EXPECT_EQ(problem.tell(found.order), "a prepareA s b s' prepareB t t'");
  EXPECT_EQ(found.stepNs, 260);
}

TEST(ListScheduling, CollectivesAreIssuedWhenTheirStreamIsFree) {
  // The second collective is ready first, but ranks behind the third one, which
  // is ready when the stream is free.
  TextProblem problem(R"(
    s = start 10; t = start 10; a = 4; u = start 10 a; b = 20; wait s; wait t
    wait u)");
  std::vector<int64_t> ranks = {0, 2, 0, 1, 3, 4, 5, 6};
  auto tellFirst = [&](const ListWindow &window) {
    Order order = scheduleByRank(problem, ranks, window).order;
    order.resize(5);
    return problem.tell(order);
  };
  ListWindow window;
  EXPECT_EQ(tellFirst(window), "s a u t b");
  // One that is fixed keeps its place.
  window.isFixed = {false, true, false, false, false, false, false, false};
  EXPECT_EQ(tellFirst(window), "s t a u b");
}

TEST(ListScheduling, TheTimeIsThatOfTheSimulation) {
  for (uint64_t seed : Seeds(1000)) {
    Problem problem = makeRandomProblem(seed, {});
    for (int32_t length : {0, 3, 1000})
      for (bool isByTail : {false, true}) {
        RankedOrder found = scheduleByRank(
            problem, isByTail ? rankByTail(problem) : rankByProgram(problem),
            {length, {}});
        Timeline timeline = need(simulate(problem, found.order));
        ASSERT_EQ(timeline.stepNs, found.stepNs);
        ASSERT_TRUE(verify(problem, found.order));
      }
  }
}

TEST(ListScheduling, TailsFollowTheEndsOfCollectives) {
  TextProblem problem("s = start 40; beside = 7 s; wait s; last = 5 s'");
  NodeId start = problem["s"], beside = problem["beside"],
         last = problem["last"];
  std::vector<int64_t> tails = computeTails(problem), ranks;
  EXPECT_EQ(tails[start], 5);
  EXPECT_EQ(tails[beside], 0);
  EXPECT_EQ(tails[last], 0);
  ranks = rankByTail(problem);
  EXPECT_EQ(ranks[start], -45);
  EXPECT_EQ(ranks[beside], -7);
}

/// Two chunks of a scatter, a short computation, a gather and two
/// products.
struct TwoChunks {
  TextProblem problem =
      TextProblem("s0 = start 10; s1 = start 10;" +
                  repeat(2, "wait s$; n$ = 1 s$'; g$ = start 10 n$; wait g$") +
                  repeat(2, "x$ = 10 g$'; y$ = 10 g$'"));
  Order list(const char *names) const { return problem.list(names); }
};

TEST(CollectiveOrders, StreamsWaitForTheNextCollectiveOfTheirOrder) {
  TwoChunks chunks;
  const Problem &problem = chunks.problem;
  // The first product begins at 30, or at 21.
  EXPECT_EQ(scheduleByStarts(problem, chunks.list("s0 s1 g0 g1"))->stepNs, 70);
  std::optional<RankedOrder> found =
      scheduleByStarts(problem, chunks.list("s0 g0 s1 g1"));
  EXPECT_EQ(found->stepNs, 62);
  EXPECT_TRUE(verify(problem, found->order));
  EXPECT_EQ(simulate(problem, found->order)->stepNs, 62);
  EXPECT_EQ(listStarts(problem, found->order), chunks.list("s0 g0 s1 g1"));
}

TEST(CollectiveOrders, ContradictionsToDependencesAreFound) {
  TwoChunks chunks;
  EXPECT_FALSE(scheduleByStarts(chunks.problem, chunks.list("g0 s0 s1 g1")));
}

TEST(CollectiveOrders, AnIdleStreamMayBeBetter) {
  TwoChunks chunks;
  const Problem &problem = chunks.problem;
  RankedOrder best = scheduleByRank(problem, rankByProgram(problem));
  EXPECT_EQ(best.stepNs, 70);
  RankedOrder kept = best;
  int64_t effort = 0;
  improveCollectives(problem, /*goalNs=*/0, effort, kept);
  EXPECT_EQ(kept.stepNs, 70);
  effort = 1 << 12;
  improveCollectives(problem, /*goalNs=*/0, effort, best);
  EXPECT_EQ(best.stepNs, 62);
  EXPECT_EQ(simulate(problem, best.order)->stepNs, 62);
}

TEST(CollectiveOrders, OrdersAreLegalAndNeverLonger) {
  for (uint64_t seed : Seeds(50)) {
    Problem problem = makeRandomProblem(seed, {});
    ASSERT_TRUE(problem.check());
    RankedOrder first = scheduleByRank(problem, rankByProgram(problem));
    RankedOrder best = first;
    int64_t effort = 1 << 12;
    improveCollectives(problem, /*goalNs=*/0, effort, best);
    EXPECT_LE(best.stepNs, first.stepNs);
    EXPECT_EQ(simulate(problem, best.order)->stepNs, best.stepNs);
  }
}

TEST(ComputeOrders, TheEndIsFilledBesideTheLastCollective) {
  // Two layers of a backward, each with the gradient of its input and of its
  // weight. Only the last weight gradient is reduced, in 100 ns.
  TextProblem problem(R"(
    input0 = mm 50; weight0 = mm 50 input0; input1 = mm 50 input0
    weight1 = mm 50 input1; reduction = start 100 weight1; wait reduction)");
  StepStructure structure = *StepStructure::create(problem);
  Order program = problem.list("input0 weight0 input1 weight1");
  EXPECT_EQ(getProgramComputeOrder(structure), program);
  EXPECT_EQ(problem.tell(fillEnd(structure, 0)),
            "input0 input1 weight1 weight0");
  // All of the reduction may stick out.
  EXPECT_EQ(fillEnd(structure, 100), program);
  EXPECT_EQ(fillEnd(structure, std::numeric_limits<int64_t>::max()), program);
}

std::string fill(const std::string &text, int32_t maxDistance) {
  TextProblem problem(text);
  StepStructure structure = *StepStructure::create(problem);
  Order program = programOrder(problem);
  return problem.tell(
      fillStalls(structure, program, *simulate(problem, program), maxDistance));
}

// An exchange of 100 ns between two operations, with one in front and one
// behind that have nothing to do with it; in the long form two operations of 10
// ns keep them away from it. Direct successors of an exchange would move along
// with it unless they are expensive.
const std::string front = "front = mm 100;", back = "back = mm 100;";
const std::string exchange =
    "a = mm 10; s = start 100 a; wait s; d = mm 10 s';";
const std::string farExchange = R"(
  a = mm 10; b = mm 10 a; c = mm 10 b; s = start 100 c; wait s; d = mm 10 s'
  e = mm 10 d; f = mm 10 e;)";

TEST(ComputeOrders, StallsAreFilledFromTheFront) {
  EXPECT_EQ(fill(front + exchange, 1), "a front d");
  EXPECT_EQ(fill(front + farExchange, 2), "front a b c d e f");
  EXPECT_EQ(fill(front + farExchange, 3), "a b c front d e f");
}

TEST(ComputeOrders, StallsAreFilledFromBehind) {
  EXPECT_EQ(fill(exchange + back, 2), "a back d");
  EXPECT_EQ(fill(farExchange + back, 3), "a b c d e f back");
  EXPECT_EQ(fill(farExchange + back, 4), "a b c back d e f");
}

TEST(ComputeOrders, ChainsMoveTogether) {
  EXPECT_EQ(fill("p = mm 40; q = mm 50 p;" + exchange, 8), "a p q d");
  EXPECT_EQ(fill(exchange + "p = mm 40; q = mm 50 p;", 8), "a p q d");
  // What needs it stays in front, behind an exchange of its own.
  EXPECT_EQ(
      fill("p = mm 40; t = start 1 p; wait t; q = mm 201 t';" + exchange, 8),
      "p q a d");
}

TEST(ComputeOrders, OneFillingIsEnough) {
  // The operation in front is taken, and fills the stall.
  EXPECT_EQ(fill(front + exchange + back, 8), "a front d back");
}

TEST(ComputeOrders, WhatIsMuchLongerThanTheStallStays) {
  EXPECT_EQ(fill("front = mm 200;" + exchange, 8), "a front d");
  EXPECT_EQ(fill("front = mm 201;" + exchange, 8), "front a d");
}

/// `computeOrder` has the operations of the compute order, and dependences
/// allow it.
void checkLegal(const StepStructure &structure, const Order &computeOrder) {
  Order sorted = computeOrder, program = getProgramComputeOrder(structure);
  std::sort(sorted.begin(), sorted.end());
  std::sort(program.begin(), program.end());
  ASSERT_EQ(sorted, program);
  Problem chained = structure.getProblem();
  for (size_t i = 1; i < computeOrder.size(); ++i)
    chained.addDependence(computeOrder[i - 1], computeOrder[i],
                          DependenceKind::Order);
  const Status &status = chained.finalize();
  ASSERT_TRUE(status) << status.error();
}

TEST(ComputeOrders, AreLegal) {
  int numEnds = 0, numStalls = 0;
  for (uint64_t seed : Seeds(600)) {
    Problem problem =
        seed % 2 ? makeRandomStep(seed, 4) : makeRandomProblem(seed, {});
    StepStructure structure = *StepStructure::create(problem);
    Random random(seed);
    for (int64_t overhangNs : {int64_t(0), random.below(200)}) {
      Order computeOrder = fillEnd(structure, overhangNs);
      checkLegal(structure, computeOrder);
      numEnds += computeOrder != getProgramComputeOrder(structure);
    }
    EXPECT_EQ(fillEnd(structure, std::numeric_limits<int64_t>::max()),
              getProgramComputeOrder(structure));
    for (const Order &order :
         {problem.topologicalOrder(), makeRandomOrder(seed, problem)}) {
      Order before;
      for (NodeId node : order)
        if (structure.isInComputeOrder(node))
          before.push_back(node);
      Order computeOrder =
          fillStalls(structure, order, *simulate(problem, order),
                     static_cast<int32_t>(random.below(10)));
      checkLegal(structure, computeOrder);
      numStalls += computeOrder != before;
    }
    if (::testing::Test::HasFatalFailure())
      return;
  }
  EXPECT_GT(numEnds, 30);
  EXPECT_GT(numStalls, 30);
}

TEST(BeamSearch, FindsTheShortestOfAllOrders) {
  int numTried = 0, numFound = 0, numLimited = 0;
  for (uint64_t seed : Seeds(300)) {
    RandomProblemOptions shape;
    shape.maxNodes = 12;
    shape.waitsMakeBuffers = seed % 2;
    Problem problem = makeRandomProblem(seed, shape);
    int64_t leastPeak = ExactStep(problem, 0).findLeastPeak();
    for (int64_t limit : {leastPeak, unlimited}) {
      int64_t optimum = *ExactStep(problem, limit).find();
      numLimited += optimum > *ExactStep(problem, unlimited).find();
      SearchOptions options;
      options.limitBytes = limit;
      options.effort = 1 << 16;
      std::optional<Order> order = searchBeam(problem, options);
      ++numTried;
      // Orders that begin alike hide each other, so that it may miss some.
      ASSERT_TRUE(order);
      ASSERT_TRUE(verify(problem, *order));
      ASSERT_LE(simulateMemory(problem, *order)->peakBytes, limit);
      numFound += simulate(problem, *order)->stepNs == optimum;
      options.belowNs = optimum;
      ASSERT_FALSE(searchBeam(problem, options));
    }
    SearchOptions options;
    options.limitBytes = leastPeak - 1;
    options.effort = 1 << 16;
    ASSERT_FALSE(searchBeam(problem, options));
  }
  EXPECT_GT(numTried, 60);
  EXPECT_GT(numLimited, 1);
  EXPECT_GE(numFound * 100, numTried * 99);
}

TEST(BeamSearch, KeepsToItsOptions) {
  int numFound = 0;
  for (uint64_t seed : Seeds(60)) {
    Problem problem = makeRandomStep(seed, 4);
    Order program = programOrder(problem);
    SearchOptions options;
    options.limitBytes = simulateMemory(problem, program)->peakBytes;
    options.belowNs = simulate(problem, program)->stepNs;
    options.effort = 100'000;
    std::optional<Order> order = searchBeam(problem, options);
    ASSERT_EQ(order, searchBeam(problem, options));
    if (!order)
      continue;
    ++numFound;
    ASSERT_TRUE(verify(problem, *order));
    ASSERT_LE(simulateMemory(problem, *order)->peakBytes, options.limitBytes);
    int64_t stepNs = simulate(problem, *order)->stepNs;
    ASSERT_LT(stepNs, options.belowNs);
    // More effort finds no longer step; too little finds nothing.
    options.effort *= 8;
    ASSERT_LE(simulate(problem, *searchBeam(problem, options))->stepNs, stepNs);
    options.effort = problem.numNodes();
    ASSERT_FALSE(searchBeam(problem, options));
  }
  EXPECT_GT(numFound, 10);
}

SearchOptions unlimitedMemory(int64_t effort) {
  SearchOptions options;
  options.limitBytes = std::numeric_limits<int64_t>::max();
  options.effort = effort;
  return options;
}

TEST(OrderImprovement, StartsEarlierAndWaitsLater) {
  TextProblem problem("a = 100; g = start 200; wait g; b = 100; last = 10 g'");
  Order order = improveOrder(problem, programOrder(problem),
                             unlimitedMemory(/*effort=*/2000));
  EXPECT_EQ(simulate(problem, order)->stepNs, 210);
  if (order[1] != problem["a"])
    std::swap(order[1], order[2]);
  EXPECT_EQ(problem.tell(order), "g a b g' last");
}

TEST(OrderImprovement, KeepsWhatIsGoodEnough) {
  Problem problem = makeRandomStep(3, 4);
  Order program = programOrder(problem);
  EXPECT_EQ(improveOrder(problem, program, unlimitedMemory(/*effort=*/0)),
            program);
  SearchOptions options = unlimitedMemory(/*effort=*/100'000);
  EXPECT_NE(improveOrder(problem, program, options), program);
  options.goalNs = simulate(problem, program)->stepNs;
  EXPECT_EQ(improveOrder(problem, program, options), program);
  Problem empty;
  empty.finalize();
  EXPECT_EQ(improveOrder(empty, {}, unlimitedMemory(/*effort=*/10)), Order());
  EXPECT_FALSE(searchBeam(empty, unlimitedMemory(/*effort=*/1000)));
}

TEST(OrderImprovement, IsNeverWorse) {
  int numBetter = 0;
  for (uint64_t seed : Seeds(200)) {
    Problem problem =
        seed % 2 ? makeRandomStep(seed, 2) : makeRandomProblem(seed, {});
    Order before = makeRandomOrder(seed, problem);
    SearchOptions options = unlimitedMemory(/*effort=*/10'000);
    options.limitBytes = simulateMemory(problem, before)->peakBytes;
    if (problem.numStreams() >= 2 && seed % 3 == 0)
      options.contention.exclusive = {{0, 1}};
    Order after = improveOrder(problem, before, options);
    ASSERT_TRUE(verify(problem, after));
    ASSERT_LE(simulateMemory(problem, after)->peakBytes, options.limitBytes);
    int64_t beforeNs = simulate(problem, before, options.contention)->stepNs;
    int64_t afterNs = simulate(problem, after, options.contention)->stepNs;
    ASSERT_LE(afterNs, beforeNs);
    numBetter += afterNs < beforeNs;
    ASSERT_EQ(improveOrder(problem, before, options), after);
  }
  EXPECT_GT(numBetter, 30);
}

TEST(OrderImprovement, FindsTheOptimumOfMostTinySteps) {
  int numFound = 0, numTried = 0;
  for (uint64_t seed : Seeds(300)) {
    RandomProblemOptions shape;
    shape.maxNodes = 9;
    Problem problem = makeRandomProblem(seed, shape);
    Order order = improveOrder(problem, makeRandomOrder(seed, problem),
                               unlimitedMemory(/*effort=*/20'000));
    int64_t bestNs = *ExactStep(problem, unlimited).find();
    ASSERT_GE(simulate(problem, order)->stepNs, bestNs);
    numFound += simulate(problem, order)->stepNs == bestNs;
    ++numTried;
  }
  EXPECT_GE(numFound * 100, numTried * 95);
}

} // namespace
