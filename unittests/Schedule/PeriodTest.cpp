//===- PeriodTest.cpp - Tests of the time and memory of periods -----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Cyclic/Period.h"

#include <gtest/gtest.h>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

/// The loop over layers: 30 ns gather a weight of 1,000 bytes, 50 ns compute
/// an activation of 10 bytes from it and from the last one.
CyclicProblem makeLayers() {
  Problem body;
  NodeId start = body.addNode(NodeKind::Start, 30, 0);
  NodeId wait = body.addWait(start);
  NodeId compute = body.addNode(NodeKind::Compute, 50);
  body.addDependence(wait, compute, DependenceKind::Data);
  BufferId weight = body.addBuffer(1000, start, /*freed=*/true);
  body.addUse(weight, wait);
  body.addUse(weight, compute);
  BufferId activation = body.addBuffer(10, compute, /*freed=*/true);
  body.finalize();
  CyclicProblem problem(std::move(body));
  problem.addDependence(compute, compute, DependenceKind::Data, 1);
  problem.addUse(activation, compute, 1);
  return problem;
}

TEST(Period, WithoutOverlapItIsTheStep) {
  CyclicProblem problem = makeLayers();
  CyclicOrder schedule = programOrder(problem);
  Result<PeriodTimeline> period = simulatePeriod(problem, schedule);
  ASSERT_TRUE(period);
  EXPECT_EQ(period->periodNs, 80);
  EXPECT_EQ(period->steady.exposedCommNs, 30);
  EXPECT_EQ(period->steady.exposedNs[1], 30);
  EXPECT_EQ(simulateRun(problem, schedule, 5), 400);
  EXPECT_EQ(simulatePeriodMemory(problem, schedule),
            std::vector<int64_t>({1010, 1010, 1020}));
}

TEST(Period, AGatherInThePeriodBeforeHidesUnderTheComputation) {
  CyclicProblem problem = makeLayers();
  CyclicOrder schedule = {{0, 0, 1}, {0, 2, 1}};
  ASSERT_TRUE(verify(problem, schedule));
  Result<PeriodTimeline> period = simulatePeriod(problem, schedule);
  ASSERT_TRUE(period);
  EXPECT_EQ(period->periodNs, 50);
  EXPECT_EQ(period->steady.exposedCommNs, 0);
  // The first gather has nothing to hide under.
  EXPECT_EQ(simulateRun(problem, schedule, 5), 5 * 50 + 30);
  EXPECT_EQ(simulatePeriodMemory(problem, schedule),
            std::vector<int64_t>({2010, 2020, 1010}));
  EXPECT_EQ(computeRunPeak(problem, schedule), 2020);
}

TEST(Period, ACollectiveInFlightOverTheBoundary) {
  CyclicProblem problem = makeLayers();
  // Waited for in the period after it starts, directly before it is needed.
  CyclicOrder schedule = {{0, 1, 1}, {1, 0, 2}};
  ASSERT_TRUE(verify(problem, schedule));
  Result<PeriodTimeline> period = simulatePeriod(problem, schedule);
  ASSERT_TRUE(period);
  EXPECT_EQ(period->periodNs, 50);
  EXPECT_EQ(period->steady.exposedNs[1], 0);
}

TEST(Period, ABusyStreamTakesLongToHoldUpTheComputation) {
  // A stream with 101 ns of work beside 100 ns of computation: it falls behind
  // by 1 ns in each period until the computation has to wait.
  Problem body;
  NodeId start = body.addNode(NodeKind::Start, 101, 0);
  NodeId first = body.addNode(NodeKind::Compute, 80);
  NodeId wait = body.addWait(start);
  NodeId last = body.addNode(NodeKind::Compute, 20);
  body.addDependence(first, last, DependenceKind::Data);
  body.finalize();
  CyclicProblem problem(std::move(body));
  CyclicOrder schedule = {{0, 0, 1, 0}, {first, wait, start, last}};
  ASSERT_TRUE(verify(problem, schedule));
  Result<PeriodTimeline> period = simulatePeriod(problem, schedule);
  ASSERT_TRUE(period);
  EXPECT_EQ(period->periodNs, 101);
}

TEST(PeriodBound, NamesTheStreamOrTheCircle) {
  CyclicProblem problem = makeLayers();
  Result<PeriodBound> bound = computePeriodBound(problem);
  ASSERT_TRUE(bound);
  EXPECT_EQ(bound->ns, 50);
  EXPECT_EQ(bound->kind, PeriodBoundKind::Computation);
  EXPECT_EQ(bound->circle, std::vector<NodeId>({2}));
  // The weight that is gathered depends on the computation before.
  problem.addDependence(2, 0, DependenceKind::Data, 1);
  bound = computePeriodBound(problem);
  ASSERT_TRUE(bound);
  EXPECT_EQ(bound->ns, 80);
  EXPECT_EQ(bound->kind, PeriodBoundKind::Circle);
  EXPECT_EQ(bound->circle, std::vector<NodeId>({0, 1, 2}));
  EXPECT_EQ(bound->circleNs, 80);
  EXPECT_EQ(bound->circleDistance, 1);
}

TEST(PeriodBound, ACircleOverTwoRepetitionsCountsHalf) {
  CyclicProblem problem = makeLayers();
  problem.addDependence(2, 0, DependenceKind::Data, 2);
  Result<PeriodBound> bound = computePeriodBound(problem);
  ASSERT_TRUE(bound);
  // 80 ns over two repetitions are less than 50 ns of computation in each.
  EXPECT_EQ(bound->ns, 50);
}

TEST(PeriodBound, WithoutCircles) {
  Problem body;
  body.addNode(NodeKind::Blocking, 7, 2);
  body.addNode(NodeKind::Compute, 3);
  body.finalize();
  Result<PeriodBound> bound = computePeriodBound(CyclicProblem(body));
  ASSERT_TRUE(bound);
  EXPECT_EQ(bound->ns, 7);
  EXPECT_EQ(bound->kind, PeriodBoundKind::Stream);
  EXPECT_EQ(bound->stream, 2);
  EXPECT_TRUE(bound->circle.empty());
}

} // namespace
