//===- ListSchedulerTest.cpp - Tests of the list scheduler ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Inductor/ListScheduler.h"

#include "../Seeds.h"
#include "CommSched/Schedule/Model/ProblemTransforms.h"
#include "CommSched/Schedule/Model/Simulator.h"
#include "CommSched/Schedule/Model/Verify.h"

#include "RandomProblem.h"
#include "ReferenceListScheduler.h"
#include "TestProblems.h"

#include <gtest/gtest.h>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::schedule::testing;
using mlir::commsched::testing::Seeds;

namespace {

constexpr ListSchedulerOptions keep = {false, false, false};
constexpr ListSchedulerOptions raise = {true, false, false};
constexpr ListSchedulerOptions sink = {false, true, false};
constexpr ListSchedulerOptions overlap = {true, true, true};

Order listSchedule(const Problem &problem, ListSchedulerOptions options) {
  Result<Order> order = ListScheduler(options).run(problem);
  EXPECT_TRUE(order) << order.error();
  return order ? *order : Order();
}

TEST(ListScheduler, KeepsTheProgramWithoutAnAim) {
  for (uint64_t seed : Seeds(100)) {
    Problem problem = makeRandomProblem(seed, {});
    EXPECT_EQ(listSchedule(problem, keep), programOrder(problem))
        << "seed " << seed;
  }
}

TEST(ListScheduler, RaisesACollectiveAboveComputeThatItDoesNotNeed) {
  // mm, relu, mm2, all_reduce(mm), wait, mm3
  Problem problem;
  NodeId mm = addCompute(problem, 10);
  NodeId relu = addCompute(problem, 1, {mm});
  NodeId mm2 = addCompute(problem, 10, {relu});
  NodeId start = addStart(problem, 10, {mm});
  NodeId wait = problem.addWait(start);
  NodeId mm3 = addCompute(problem, 10, {mm2, wait});
  problem.finalize();
  EXPECT_EQ(listSchedule(problem, raise),
            (Order{mm, start, relu, mm2, wait, mm3}));
}

TEST(ListScheduler, SinksAWaitBelowComputeThatDoesNotNeedIt) {
  Problem problem;
  NodeId start = addStart(problem, 10);
  NodeId wait = problem.addWait(start);
  NodeId mm = addCompute(problem, 10);
  NodeId user = addCompute(problem, 10, {mm, wait});
  NodeId other = addCompute(problem, 10, {mm});
  problem.finalize();
  EXPECT_EQ(listSchedule(problem, sink), (Order{start, mm, other, wait, user}));
  // Nothing to raise: it is first already.
  EXPECT_EQ(listSchedule(problem, raise), programOrder(problem));
}

TEST(ListScheduler, RaisingIsStrongerThanSinking) {
  // The second collective needs the first one's result.
  Problem problem;
  NodeId first = addStart(problem, 10);
  NodeId mm = addCompute(problem, 10);
  NodeId wait = problem.addWait(first);
  NodeId second = addStart(problem, 10, {wait});
  NodeId wait2 = problem.addWait(second);
  problem.finalize();
  EXPECT_EQ(listSchedule(problem, {true, true, false}),
            (Order{first, wait, second, mm, wait2}));
  EXPECT_EQ(listSchedule(problem, sink),
            (Order{first, mm, wait, second, wait2}));
}

TEST(ListScheduler, CollectivesAreRaisedInTheirOrder) {
  // The second in the program leads to nothing, and still stays second.
  Problem problem;
  NodeId mm = addCompute(problem, 10);
  NodeId first = addStart(problem, 10, {mm});
  NodeId mm2 = addCompute(problem, 10);
  NodeId second = addStart(problem, 10, {mm2});
  problem.addWait(second);
  problem.addWait(first);
  problem.finalize();
  EXPECT_EQ(listSchedule(problem, raise), programOrder(problem));
}

TEST(ListScheduler, PutsComputeBesideACollectiveNeededSoonestFirst) {
  // Beside the first all_reduce: first what only the second one needs (relu,
  // mm2), then what neither needs (mm1); what needs the first comes behind its
  // wait.
  Problem problem;
  NodeId reduce1 = addStart(problem, 100);
  NodeId mm1 = addCompute(problem, 10);
  NodeId relu = addCompute(problem, 1);
  NodeId mm2 = addCompute(problem, 10, {relu});
  NodeId wait1 = problem.addWait(reduce1);
  NodeId mul = addCompute(problem, 1, {relu, mm2, wait1});
  NodeId reduce2 = addStart(problem, 100, {mul});
  NodeId wait2 = problem.addWait(reduce2);
  NodeId mm3 = addCompute(problem, 10, {mm2, wait1, wait2, mm1});
  problem.finalize();
  EXPECT_EQ(listSchedule(problem, overlap),
            (Order{reduce1, relu, mm2, mm1, wait1, mul, reduce2, wait2, mm3}));
}

TEST(ListScheduler, StopsPuttingComputeBesideWhenItCoversTheCollective) {
  auto build = [](int64_t gatherNs) {
    Problem problem;
    addStart(problem, gatherNs);
    problem.addWait(0);
    addStart(problem, 5, {1});
    problem.addWait(2);
    for (int i = 0; i < 3; ++i)
      addCompute(problem, 10);
    problem.finalize();
    return problem;
  };
  // Two of the three cover 20 exactly; 21 takes the third; 0 takes none.
  EXPECT_EQ(listSchedule(build(20), overlap), (Order{0, 4, 5, 1, 2, 6, 3}));
  EXPECT_EQ(listSchedule(build(21), overlap), (Order{0, 4, 5, 6, 1, 2, 3}));
  EXPECT_EQ(listSchedule(build(0), overlap), (Order{0, 1, 2, 4, 5, 6, 3}));
}

TEST(ListScheduler, PutsComputationBehindABlockingCollective) {
  // Nothing runs beside it, but the reference makes no difference.
  Problem problem;
  NodeId barrier = problem.addNode(NodeKind::Blocking, 100, 0);
  NodeId start = addStart(problem, 10);
  problem.addDependence(barrier, start, DependenceKind::Order);
  NodeId wait = problem.addWait(start);
  NodeId mm = addCompute(problem, 10);
  problem.finalize();
  EXPECT_EQ(listSchedule(problem, overlap), (Order{barrier, mm, start, wait}));
}

TEST(ListScheduler, ReportsTheProblemsOwnError) {
  Problem problem;
  EXPECT_EQ(ListScheduler(overlap).run(problem).error(),
            "the problem is not finalized");
  addCompute(problem, 1);
  addCompute(problem, 1, {0});
  problem.addDependence(1, 0, DependenceKind::Memory);
  problem.finalize();
  EXPECT_EQ(ListScheduler(overlap).run(problem).error(),
            "dependences form a cycle of 2 nodes: node 0 (compute) -> node 1 "
            "(compute) -> node 0 (compute)");
}

class ListSchedulerRandom : public ::testing::TestWithParam<int> {
protected:
  ListSchedulerOptions options() const {
    return {(GetParam() & 1) != 0, (GetParam() & 2) != 0,
            (GetParam() & 4) != 0};
  }
};

/// Every combination of options, on thousands of problems.
TEST_P(ListSchedulerRandom, AgreesWithTheReference) {
  int moved = 0;
  for (uint64_t seed : Seeds(2500)) {
    RandomProblemOptions random;
    random.maxNodes = seed % 10 == 0 ? 80 : 25;
    random.shuffleProgram = seed % 3 == 0;
    Problem problem = makeRandomProblem(seed, random);
    if (seed % 4 == 1 && !random.shuffleProgram) {
      addCollectiveOrder(problem, seed % 8 == 1 ? CollectiveOrderScope::Global
                                                : CollectiveOrderScope::Stream);
      problem.finalize();
    }
    ASSERT_TRUE(problem.check())
        << "seed " << seed << ": " << problem.check().error();
    Order order = listSchedule(problem, options());
    ASSERT_EQ(order, ReferenceListScheduler(problem, options()).run())
        << "seed " << seed;
    ASSERT_TRUE(verify(problem, order)) << "seed " << seed;
    moved += order != programOrder(problem);
  }
  if (GetParam() != 0) {
    EXPECT_GT(moved, 150);
  }
}

INSTANTIATE_TEST_SUITE_P(AllOptions, ListSchedulerRandom,
                         ::testing::Range(0, 8));

} // namespace
