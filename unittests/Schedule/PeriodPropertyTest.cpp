//===- PeriodPropertyTest.cpp - Periods against unrolled programs ---------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is computed about a period, compared with the simulation of the program
// of many repetitions.
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Cyclic/Period.h"

#include "../Seeds.h"
#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "CommSched/Schedule/Model/Verify.h"
#include "RandomCyclicProblem.h"

#include <gtest/gtest.h>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::schedule::testing;
using mlir::commsched::testing::Seeds;

namespace {

constexpr uint64_t numProblems = 2000;

RandomProblemOptions getOptions() {
  RandomProblemOptions options;
  options.maxNodes = 14;
  return options;
}

struct Case {
  explicit Case(uint64_t seed)
      : problem(makeRandomCyclicProblem(seed, getOptions())),
        schedule(makeRandomCyclicOrder(seed, problem, seed % 4)) {}

  CyclicProblem problem;
  CyclicOrder schedule;
};

/// Whether a circle takes more time than its distance times the ratio
/// `ns` / `distance`: the algorithm of Bellman and Ford, with weights that are
/// integers.
bool hasLongerCircle(const CyclicProblem &problem, int64_t ns,
                     int64_t distance) {
  const Problem &body = problem.body();
  struct Edge {
    NodeId from, to;
    int64_t weight;
  };
  std::vector<Edge> edges;
  auto add = [&](NodeId from, NodeId to, int32_t by) {
    bool isTimed =
        body.kind(from) != NodeKind::Start || body.waitOf(from) == to;
    int64_t timeNs = isTimed ? body.costNs(from) : 0;
    edges.push_back({from, to, timeNs * distance - by * ns});
  };
  for (NodeId node = 0; node < body.numNodes(); ++node)
    for (DependenceEnd end : body.successors(node))
      add(node, end.node, 0);
  for (const CarriedDependence &edge : problem.carriedDependences())
    add(edge.from, edge.to, edge.distance);
  std::vector<int64_t> longest(body.numNodes());
  for (NodeId round = 0; round <= body.numNodes(); ++round) {
    bool changed = false;
    for (const Edge &edge : edges)
      if (longest[edge.from] + edge.weight > longest[edge.to]) {
        longest[edge.to] = longest[edge.from] + edge.weight;
        changed = true;
      }
    if (!changed)
      return false;
  }
  return true;
}

TEST(PeriodProperty, RandomOrdersAreLegalInAllRepetitions) {
  for (uint64_t seed : Seeds(numProblems)) {
    Case random(seed);
    ASSERT_TRUE(random.problem.check()) << seed;
    Status status = verify(random.problem, random.schedule);
    ASSERT_TRUE(status) << seed << ": " << status.error();
    Problem unrolled = unroll(random.problem, 5);
    ASSERT_TRUE(unrolled.check()) << seed << ": " << unrolled.check().error();
    status = verify(unrolled, unroll(random.schedule, 5));
    ASSERT_TRUE(status) << seed << ": " << status.error();
  }
}

/// An order with two neighbours exchanged is legal if and only if it is legal
/// when it is unrolled.
TEST(PeriodProperty, IllegalOrdersAreFound) {
  int32_t numIllegal = 0;
  for (uint64_t seed : Seeds(numProblems)) {
    Case random(seed);
    if (random.schedule.order.size() < 2)
      continue;
    size_t place = seed % (random.schedule.order.size() - 1);
    std::swap(random.schedule.order[place], random.schedule.order[place + 1]);
    bool isLegal = bool(verify(random.problem, random.schedule));
    int32_t count = random.schedule.depth() + 3;
    bool isUnrolledLegal = bool(
        verify(unroll(random.problem, count), unroll(random.schedule, count)));
    // One more rule: no second start of a collective before the wait.
    ASSERT_TRUE(isUnrolledLegal || !isLegal) << seed;
    numIllegal += !isUnrolledLegal;
  }
  EXPECT_GT(numIllegal, 30);
}

TEST(PeriodProperty, TimeIsThatOfTheUnrolledProgram) {
  for (uint64_t seed : Seeds(numProblems)) {
    Case random(seed);
    constexpr int32_t few = 6, many = 240, apart = 12;
    Result<Timeline> unrolled =
        simulate(unroll(random.problem, few), unroll(random.schedule, few));
    ASSERT_TRUE(unrolled) << seed;
    ASSERT_EQ(simulateRun(random.problem, random.schedule, few),
              unrolled->stepNs)
        << seed;
    Result<PeriodTimeline> period =
        simulatePeriod(random.problem, random.schedule);
    ASSERT_TRUE(period) << seed;
    ASSERT_EQ(period->periodNs * apart,
              simulateRun(random.problem, random.schedule, many + apart) -
                  simulateRun(random.problem, random.schedule, many))
        << seed;
  }
}

TEST(PeriodProperty, ContendedTimeWithoutContentionIsThatOfThePeriod) {
  for (uint64_t seed : Seeds(200)) {
    Case random(seed);
    Contention contention;
    // A link for each stream: contention without effect.
    contention.links.assign(random.problem.body().numStreams(), -1);
    Result<PeriodTimeline> contended =
        simulatePeriod(random.problem, random.schedule, contention);
    Result<PeriodTimeline> period =
        simulatePeriod(random.problem, random.schedule);
    ASSERT_TRUE(contended && period) << seed;
    // Few repetitions need not have reached the steady state.
    ASSERT_LE(contended->periodNs, period->periodNs) << seed;
    ASSERT_EQ(contended->steady.computeNs, period->steady.computeNs) << seed;
  }
}

TEST(PeriodProperty, MemoryIsThatOfTheUnrolledProgram) {
  for (uint64_t seed : Seeds(numProblems)) {
    Case random(seed);
    constexpr int32_t count = 14;
    Problem unrolled = unroll(random.problem, count);
    Order order = unroll(random.schedule, count);
    Result<MemoryTimeline> memory = simulateMemory(unrolled, order);
    ASSERT_TRUE(memory) << seed;
    std::vector<int64_t> live =
        simulatePeriodMemory(random.problem, random.schedule);
    // A period in the middle, in which all stages run.
    size_t numNodes = random.schedule.order.size(), begin = 0;
    for (int32_t period = 0; period < 8; ++period)
      for (NodeId node : random.schedule.order)
        begin += random.schedule.stages[node] <= period;
    for (size_t i = 0; i < numNodes; ++i)
      ASSERT_EQ(live[i], memory->allocatedBytes[begin + i])
          << seed << " at position " << i;
    ASSERT_EQ(computeRunPeak(random.problem, random.schedule),
              memory->peakBytes)
        << seed;
  }
}

TEST(PeriodProperty, PeriodProblemHasTheMemoryAndNoLessTime) {
  int32_t numWhole = 0;
  for (uint64_t seed : Seeds(numProblems)) {
    Case random(seed);
    Result<Problem> program =
        makePeriodProblem(random.problem, random.schedule);
    if (!program)
      continue;
    ++numWhole;
    ASSERT_TRUE(program->check()) << seed << ": " << program->check().error();
    Result<Timeline> step = simulate(*program, program->programOrder());
    Result<MemoryTimeline> memory =
        simulateMemory(*program, program->programOrder());
    Result<PeriodTimeline> period =
        simulatePeriod(random.problem, random.schedule);
    ASSERT_TRUE(step && memory && period) << seed;
    ASSERT_LE(period->periodNs, step->stepNs) << seed;
    ASSERT_EQ(memory->allocatedBytes,
              simulatePeriodMemory(random.problem, random.schedule))
        << seed;
  }
  EXPECT_GT(numWhole, 60);
}

TEST(PeriodProperty, BoundIsBelowEveryPeriodAndItsCircleIsTheLongest) {
  int32_t numCircles = 0;
  for (uint64_t seed : Seeds(numProblems)) {
    Case random(seed);
    Result<PeriodBound> bound = computePeriodBound(random.problem);
    Result<PeriodTimeline> period =
        simulatePeriod(random.problem, random.schedule);
    ASSERT_TRUE(bound && period) << seed;
    ASSERT_LE(bound->ns, period->periodNs) << seed;
    ASSERT_FALSE(
        hasLongerCircle(random.problem, bound->circleNs, bound->circleDistance))
        << seed;
    if (bound->circle.empty())
      continue;
    ++numCircles;
    // A nanosecond less over the distance is too little for it.
    ASSERT_TRUE(hasLongerCircle(random.problem, bound->circleNs - 1,
                                bound->circleDistance))
        << seed;
  }
  EXPECT_GT(numCircles, 150);
}

} // namespace
