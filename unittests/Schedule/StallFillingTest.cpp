//===- StallFillingTest.cpp - Tests of filling stalls ---------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cyclic/StallFilling.h"
#include "RandomCyclicProblem.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

std::optional<CyclicOrder> fillProgram(const CyclicProblem &problem,
                                       int64_t distanceNs = 0) {
  CyclicOrder program = programOrder(problem);
  Result<PeriodTimeline> period = simulatePeriod(problem, program);
  EXPECT_TRUE(bool(period));
  return fillPeriodStalls(PeriodGraph(problem), program, period->steady,
                          distanceNs);
}

/// Two layers of a backward: the gradients of inputs are a chain, those of
/// weights hang from it. The reduction at its end stalls.
const char *const backward = R"(
  a = 100; early = 50 a; update = 1 early; b = 100 a; late = 50 b
  s = start 70 b; wait s; last = 10 s')";

TEST(StallFilling, TakesTheNearestComputationThatNothingWaitsFor) {
  TextProblem body(backward);
  CyclicProblem problem(body);
  std::optional<CyclicOrder> filled = fillProgram(problem);
  ASSERT_TRUE(filled);
  // The update follows what it depends on, behind the stall.
  EXPECT_EQ(body.tell(filled->order), "a b s early late s' update last");
  Result<PeriodTimeline> period = simulatePeriod(problem, *filled);
  ASSERT_TRUE(bool(period));
  EXPECT_EQ(period->periodNs, 311);

  // What is nearer stays.
  filled = fillProgram(problem, /*distanceNs=*/120);
  ASSERT_TRUE(filled);
  EXPECT_EQ(body.tell(filled->order), "a b late s early s' update last");
  EXPECT_FALSE(fillProgram(problem, /*distanceNs=*/1000));
}

TEST(StallFilling, WithoutAStallNothingMoves) {
  EXPECT_FALSE(fillProgram(CyclicProblem(TextProblem("a = 10; b = 10 a"))));
}

TEST(StallFilling, RandomOrdersRemainLegal) {
  int32_t numFilled = 0;
  for (uint64_t seed : Seeds(2000)) {
    RandomProblemOptions options;
    options.maxNodes = 30;
    CyclicProblem problem = makeRandomCyclicProblem(seed, options);
    CyclicOrder schedule = makeRandomCyclicOrder(seed, problem, /*maxStage=*/2);
    Result<PeriodTimeline> period = simulatePeriod(problem, schedule);
    ASSERT_TRUE(bool(period)) << period.error();
    std::optional<CyclicOrder> filled =
        fillPeriodStalls(PeriodGraph(problem), schedule, period->steady,
                         static_cast<int64_t>(seed % 3) * period->periodNs / 8);
    if (!filled)
      continue;
    ++numFilled;
    Status legal = verify(problem, *filled);
    ASSERT_TRUE(bool(legal)) << legal.error();
  }
  EXPECT_GT(numFilled, 60);
}

} // namespace
