//===- CyclicProblemTest.cpp - Tests of cyclic problems -------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Cyclic/CyclicProblem.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

/// gather, its wait, computation that uses what was gathered.
Problem makeLayer() {
  return TextProblem("g = start 30 -> 1000; wait g; c = 50 g' -> 10!");
}

std::string getError(const Status &status) { return status.error(); }

TEST(CyclicProblem, ErrorsNameOperationsAndDistances) {
  CyclicProblem far(makeLayer());
  far.addDependence(2, 0, DependenceKind::Data, 64);
  EXPECT_EQ(getError(far.check()),
            "node 0 (start) depends on node 2 (compute) at a distance of 64 "
            "repetitions, but distances are from 1 to 63, and nodes below 3");
  CyclicProblem none(makeLayer());
  none.addDependence(2, 2, DependenceKind::Data, 0);
  EXPECT_EQ(getError(none.check()),
            "node 2 (compute) depends on node 2 (compute) at a distance of 0 "
            "repetitions, but distances are from 1 to 63, and nodes below 3");
  CyclicProblem buffer(makeLayer());
  buffer.addUse(7, 2, 1);
  EXPECT_EQ(getError(buffer.check()),
            "node 2 (compute) uses buffer 7 at a distance of 1 repetitions, "
            "but there are 2 buffers");
}

TEST(CyclicProblem, ErrorsOfBodiesAreNamed) {
  auto errorOf = [](const char *body) {
    return getError(CyclicProblem(TextProblem(body)).check());
  };
  EXPECT_EQ(errorOf("a = 1 memory:b; b = 1 a"),
            "dependences form a cycle of 2 nodes: node 0 (compute) -> node 1 "
            "(compute) -> node 0 (compute)");
  EXPECT_EQ(errorOf("a = 1; x = arg 8"),
            "buffer 0 is freed, but no operation makes it in each repetition");
  EXPECT_EQ(errorOf("a = 1125899906842624"),
            "the sum of all costs is 1125899906842624, of which 65536 "
            "repetitions do not fit 64 bits");
}

TEST(CyclicOrder, VerifyNamesBothPlaces) {
  CyclicProblem problem(makeLayer());
  problem.addDependence(2, 0, DependenceKind::Data, 1);
  CyclicOrder schedule = programOrder(problem);
  EXPECT_TRUE(verify(problem, schedule));
  // The gather of the next repetition would start before what it depends on.
  schedule.stages = {0, 0, 1};
  EXPECT_EQ(getError(verify(problem, schedule)),
            "node 0 (start) at stage 0, position 0 comes before node 2 "
            "(compute) at stage 1, position 2, on which it depends (data) at a "
            "distance of 1 repetitions");
  schedule.order = {2, 0, 1};
  EXPECT_TRUE(verify(problem, schedule));
  schedule.order = {2, 0};
  EXPECT_FALSE(verify(problem, schedule));
  schedule.order = {2, 0, 1};
  schedule.stages = {0, 0};
  EXPECT_EQ(getError(verify(problem, schedule)),
            "there are stages for 2 operations; the problem has 3");
  schedule.stages = {0, 0, -1};
  EXPECT_EQ(getError(verify(problem, schedule)),
            "node 2 (compute) has stage -1, but stages are from 0 to 63");
}

TEST(CyclicOrder, ACollectiveIsWaitedForBeforeItStartsAgain) {
  CyclicProblem problem(makeLayer());
  CyclicOrder schedule = programOrder(problem);
  schedule.stages = {0, 1, 1};
  EXPECT_EQ(getError(verify(problem, schedule)),
            "node 0 (start) at stage 0, position 0 starts again before node 1 "
            "(wait) at stage 1, position 1 has waited for it");
  schedule.order = {1, 0, 2};
  EXPECT_TRUE(verify(problem, schedule));
}

TEST(CyclicOrder, UnrollingRunsOnlyRepetitionsThatExist) {
  CyclicProblem problem(makeLayer());
  CyclicOrder schedule = {{0, 0, 1}, {2, 0, 1}};
  EXPECT_EQ(unroll(schedule, 2), Order({0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(unroll(schedule, 3), Order({0, 1, 2, 3, 4, 5, 6, 7, 8}));
  schedule.order = {0, 1, 2};
  EXPECT_EQ(unroll(schedule, 2), Order({0, 1, 3, 4, 2, 5}));
}

TEST(CyclicOrder, APeriodProblemNeedsWholeCollectives) {
  CyclicProblem problem(makeLayer());
  CyclicOrder schedule = {{0, 1, 1}, {1, 0, 2}};
  Result<Problem> period = makePeriodProblem(problem, schedule);
  ASSERT_FALSE(period);
  EXPECT_EQ(period.error(), "node 1 (wait) has another stage than node 0 "
                            "(start), for which it waits");
}

} // namespace
