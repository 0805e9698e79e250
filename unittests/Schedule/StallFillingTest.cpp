//===- StallFillingTest.cpp - Tests of filling stalls ---------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cyclic/StallFilling.h"

#include "../Seeds.h"
#include "RandomCyclicProblem.h"

#include <gtest/gtest.h>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::schedule::testing;
using mlir::commsched::testing::Seeds;

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
struct Backward {
  Backward() {
    inputs = body.addNode(NodeKind::Compute, 100);
    early = addWeights(inputs);
    update = body.addNode(NodeKind::Compute, 1);
    body.addDependence(early, update, DependenceKind::Data);
    moreInputs = body.addNode(NodeKind::Compute, 100);
    body.addDependence(inputs, moreInputs, DependenceKind::Data);
    late = addWeights(moreInputs);
    scatter = body.addNode(NodeKind::Start, 70, 0);
    body.addDependence(moreInputs, scatter, DependenceKind::Data);
    wait = body.addWait(scatter);
    last = body.addNode(NodeKind::Compute, 10);
    body.addDependence(wait, last, DependenceKind::Data);
    body.finalize();
  }

  NodeId addWeights(NodeId from) {
    NodeId weights = body.addNode(NodeKind::Compute, 50);
    body.addDependence(from, weights, DependenceKind::Data);
    return weights;
  }

  Problem body;
  NodeId inputs, early, update, moreInputs, late, scatter, wait, last;
};

TEST(StallFilling, TakesTheNearestComputationThatNothingWaitsFor) {
  Backward step;
  CyclicProblem problem(step.body);
  std::optional<CyclicOrder> filled = fillProgram(problem);
  ASSERT_TRUE(filled);
  // The update follows what it depends on, behind the stall.
  EXPECT_EQ(filled->order,
            (Order{step.inputs, step.moreInputs, step.scatter, step.early,
                   step.late, step.wait, step.update, step.last}));
  Result<PeriodTimeline> period = simulatePeriod(problem, *filled);
  ASSERT_TRUE(bool(period));
  EXPECT_EQ(period->periodNs, 311);
}

TEST(StallFilling, LeavesWhatIsNearer) {
  Backward step;
  std::optional<CyclicOrder> filled =
      fillProgram(CyclicProblem(step.body), /*distanceNs=*/120);
  ASSERT_TRUE(filled);
  EXPECT_EQ(filled->order,
            (Order{step.inputs, step.moreInputs, step.late, step.scatter,
                   step.early, step.wait, step.update, step.last}));
  EXPECT_FALSE(fillProgram(CyclicProblem(step.body), /*distanceNs=*/1000));
}

TEST(StallFilling, WithoutAStallNothingMoves) {
  Problem body;
  NodeId first = body.addNode(NodeKind::Compute, 10);
  NodeId second = body.addNode(NodeKind::Compute, 10);
  body.addDependence(first, second, DependenceKind::Data);
  body.finalize();
  EXPECT_FALSE(fillProgram(CyclicProblem(std::move(body))));
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
    ASSERT_TRUE(bool(legal)) << "seed " << seed << ": " << legal.error();
  }
  EXPECT_GT(numFilled, 60);
}

} // namespace
