//===- InterleavingTest.cpp - Tests of interleaved programs ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Interleave/Interleaving.h"
#include "CommSched/Support/Unlimited.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

/// A chain of five: computation, collectives that it waits for, and computation
/// that nothing needs.
std::string writeRandom(const std::string &argument, Random &random) {
  auto draw = [&](int64_t least, int64_t range) {
    return std::to_string(least + random.below(range));
  };
  std::string last = argument, text = argument + " = arg 10;";
  for (int32_t i = 0; i < 5; ++i) {
    std::string name = argument + std::to_string(i);
    if (random.percent(40)) {
      text += name + " = start " + draw(10, 90);
      text += "@" + draw(0, 2) + " " + last;
      text += " -> " + draw(10, 50) + "; wait " + name + ";";
      last = name + "'";
    } else if (random.percent(30)) {
      text += name + " = " + draw(10, 60) +
              (last == argument ? "" : " data:" + last) + " -> 10!;";
    } else {
      text += name + " = " + draw(10, 90) + " " + last;
      text += " -> " + draw(10, 50) + ";";
      last = name;
    }
  }
  return text;
}

struct TwoPrograms {
  TextProblem problem;
  NodeId numFirst;
};

TwoPrograms makeRandomPair(uint64_t seed) {
  Random random(seed);
  std::string first = writeRandom("x", random);
  return {first + writeRandom("y", random), TextProblem(first).numNodes()};
}

/// The shortest step of all merges of two orders within the limit.
class ExactMerge {
public:
  ExactMerge(const Problem &problem, std::array<Order, 2> orders,
             int64_t limitBytes)
      : problem(problem), orders(std::move(orders)), limitBytes(limitBytes) {}

  int64_t find() {
    extend(0, 0);
    return best;
  }

private:
  void extend(size_t first, size_t second) {
    if (merged.size() == static_cast<size_t>(problem.numNodes())) {
      if (simulateMemory(problem, merged)->peakBytes <= limitBytes)
        best = std::min(best, simulate(problem, merged)->stepNs);
      return;
    }
    if (first < orders[0].size()) {
      merged.push_back(orders[0][first]);
      extend(first + 1, second);
      merged.pop_back();
    }
    if (second < orders[1].size()) {
      merged.push_back(orders[1][second]);
      extend(first, second + 1);
      merged.pop_back();
    }
  }

  const Problem &problem;
  std::array<Order, 2> orders;
  int64_t limitBytes;
  Order merged;
  int64_t best = unlimited;
};

std::array<Order, 2> split(const Order &order, NodeId numFirst) {
  std::array<Order, 2> orders;
  for (NodeId node : order)
    orders[node >= numFirst].push_back(node);
  return orders;
}

} // namespace

TEST(Interleaving, ComputationOfOneHidesCommunicationOfTheOther) {
  TextProblem problem(R"(
    x = arg 10; s = start 100 x -> 10; wait s; a = 100 s' -> 10
    y = arg 10; b = 100 y -> 10; t = start 100@1 b -> 10; wait t)");
  ProgramSequence sequence = need(chooseSequence(problem, problem["b"]));
  Interleaving result = need(interleave(problem, problem["b"], sequence, {}));
  EXPECT_EQ(result.sequence.stepNs, 400);
  EXPECT_EQ(result.merged.stepNs, 200);
}

TEST(Interleaving, TheProgramThatFreesComesFirst) {
  TextProblem problem(R"(
    x = arg 10; y = arg 10; saved = arg 500; a = 10 x -> 10 500!
    b = 10 y saved -> 10)");
  ProgramSequence sequence = need(chooseSequence(problem, problem["b"]));
  EXPECT_TRUE(sequence.isSecondFirst);
  EXPECT_EQ(sequence.peakBytes, 530);
}

TEST(Interleaving, WhatDependsOnTheFirstStaysBehindIt) {
  TwoPrograms pair = makeRandomPair(3);
  NodeId last = pair.numFirst - 1;
  pair.problem.addDependence(last, pair.numFirst, DependenceKind::Memory);
  pair.problem.finalize();
  ProgramSequence sequence = need(chooseSequence(pair.problem, pair.numFirst));
  EXPECT_FALSE(sequence.isSecondFirst);
  for (double weight : {0.0, 1.0}) {
    Order merged = mergeOrders(
        pair.problem, split(pair.problem.programOrder(), pair.numFirst),
        unlimited, weight);
    EXPECT_TRUE(verify(pair.problem, merged));
  }
}

TEST(Interleaving, BadNumbersOfOperationsAreErrors) {
  TwoPrograms pair = makeRandomPair(1);
  Result<ProgramSequence> sequence = chooseSequence(pair.problem, 1000);
  ASSERT_FALSE(sequence);
  EXPECT_EQ(sequence.error(), "the first program has 1000 of " +
                                  std::to_string(pair.problem.numNodes()) +
                                  " operations");
}

TEST(Interleaving, WhatFreesComesAsSoonAsItIsReady) {
  TextProblem problem(R"(
    saved = arg 100; first = 10 saved; s = start 10 first; wait s; next = 10 s'
    view = 0 first saved; freeing = 10 view saved -> 10!
    raising = 10 freeing -> 10!)");
  EXPECT_EQ(problem.tell(freeEarly(problem, problem.programOrder())),
            "first view freeing s s' next raising");
  // Another program holds it, too.
  Order held = problem.list("first s s' next freeing raising");
  EXPECT_EQ(freeEarly(problem, held), held);
}

TEST(Interleaving, OrdersThatFreeEarlyAreLegal) {
  for (uint64_t seed : Seeds(200)) {
    TwoPrograms pair = makeRandomPair(seed);
    Order early = freeEarly(pair.problem, pair.problem.programOrder());
    EXPECT_TRUE(verify(pair.problem, early));
  }
}

TEST(Interleaving, RandomPairsAreNearlyAsShortAsTheShortestMerge) {
  int64_t numBest = 0, numShorter = 0, total = 0, bestTotal = 0;
  // The same pairs always: what is compared are figures over all.
  constexpr int64_t numPairs = 80;
  for (uint64_t seed = 0; seed < numPairs; ++seed) {
    TwoPrograms pair = makeRandomPair(seed);
    ProgramSequence sequence =
        need(chooseSequence(pair.problem, pair.numFirst));
    StepSchedulerOptions options;
    options.effort = 1 << 16;
    options.limitBytes = sequence.peakBytes;
    if (seed % 2 == 0)
      options.limitBytes += 60;
    Interleaving result =
        need(interleave(pair.problem, pair.numFirst, sequence, options));
    const StepSchedule &merged = result.merged;
    ASSERT_TRUE(verify(pair.problem, merged.order)) << seed;
    ASSERT_EQ(simulate(pair.problem, merged.order)->stepNs, merged.stepNs);
    ASSERT_LE(merged.peakBytes, options.limitBytes) << seed;
    ASSERT_LE(merged.stepNs, result.sequence.stepNs) << seed;
    numShorter += merged.stepNs < result.sequence.stepNs;
    std::array<Order, 2> orders = split(result.sequence.order, pair.numFirst);
    int64_t bestNs =
        ExactMerge(pair.problem, orders, options.limitBytes).find();
    for (Order &order : orders)
      order = freeEarly(pair.problem, order);
    bestNs = std::min(
        bestNs, ExactMerge(pair.problem, orders, options.limitBytes).find());
    ASSERT_GE(merged.stepNs, bestNs) << seed;
    total += merged.stepNs;
    bestTotal += bestNs;
    StepSchedule scheduled =
        need(scheduleStep(renumber(pair.problem, merged.order), options));
    numBest += scheduled.stepNs <= bestNs;
  }
  EXPECT_GE(numShorter, numPairs / 2);
  EXPECT_LE(total * 100, bestTotal * 105);
  EXPECT_GE(numBest, numPairs * 95 / 100);
}
