//===- IterativeReorderingTest.cpp - Tests of iterative reordering --------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Inductor/IterativeReordering.h"

#include "TestProblems.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::schedule::testing;

namespace {

IterativeReordering expectResult(const Result<IterativeReordering> &result) {
  EXPECT_TRUE(result) << result.error();
  return result ? *result : IterativeReordering();
}

IterativeReordering raiseStarts(const Problem &problem) {
  return expectResult(reorderComms(problem, {}));
}

IterativeReordering sinkWaits(const Problem &problem,
                              const IterativeReorderingOptions &options = {}) {
  return expectResult(sinkWaitsIteratively(problem, options));
}

TEST(ReorderComms, RaisesToTheTop) {
  Problem problem;
  NodeId before = addCompute(problem, 1);
  NodeId other = addCompute(problem, 1, {before});
  NodeId start = addStart(problem, 1);
  NodeId wait = problem.addWait(start);
  problem.finalize();
  IterativeReordering result = raiseStarts(problem);
  EXPECT_EQ(result.order, (Order{start, before, other, wait}));
  ASSERT_EQ(result.collectives.size(), 1u);
  EXPECT_EQ(result.collectives[0].node, start);
  EXPECT_EQ(result.collectives[0].moves, 2);
  EXPECT_EQ(result.collectives[0].grouped, 0);
  EXPECT_EQ(result.collectives[0].limit, MoveLimit::None);
  EXPECT_EQ(result.collectives[0].obstacle, noNode);
}

TEST(SinkWaitsIteratively, SinksToTheNextStart) {
  Problem problem;
  NodeId start = addStart(problem, 1);
  NodeId wait = problem.addWait(start);
  NodeId mm = addCompute(problem, 1);
  NodeId next = addStart(problem, 1);
  NodeId last = addCompute(problem, 1);
  NodeId nextWait = problem.addWait(next);
  problem.finalize();
  IterativeReordering result = sinkWaits(problem);
  EXPECT_EQ(result.order, (Order{start, mm, wait, next, last, nextWait}));
  ASSERT_EQ(result.collectives.size(), 2u);
  // The last of the program comes first.
  EXPECT_EQ(result.collectives[0].node, nextWait);
  EXPECT_EQ(result.collectives[0].limit, MoveLimit::None);
  EXPECT_EQ(result.collectives[1].node, wait);
  EXPECT_EQ(result.collectives[1].moves, 1);
  EXPECT_EQ(result.collectives[1].limit, MoveLimit::Collective);
  EXPECT_EQ(result.collectives[1].obstacle, next);

  IterativeReorderingOptions passStarts;
  passStarts.withCollectives = true;
  result = sinkWaits(problem, passStarts);
  EXPECT_EQ(result.order, (Order{start, mm, next, last, nextWait, wait}));
}

TEST(IterativeReordering, WithoutCollectivesNothingHappens) {
  Problem problem;
  addCompute(problem, 1);
  problem.addNode(NodeKind::Blocking, 1, 0);
  problem.finalize();
  for (const IterativeReordering &result :
       {raiseStarts(problem), sinkWaits(problem)}) {
    EXPECT_EQ(result.order, programOrder(problem));
    EXPECT_TRUE(result.collectives.empty());
  }
  Problem empty;
  empty.finalize();
  EXPECT_TRUE(raiseStarts(empty).order.empty());
  EXPECT_TRUE(sinkWaits(empty).order.empty());
}

TEST(IterativeReordering, RejectsWhatItCannotStartFrom) {
  Problem open;
  EXPECT_EQ(reorderComms(open, {}).error(), "the problem is not finalized");
  Problem problem;
  addCompute(problem, 1);
  addCompute(problem, 1);
  problem.addDependence(1, 0, DependenceKind::Data);
  problem.finalize();
  EXPECT_EQ(sinkWaitsIteratively(problem, {}).error(),
            "the program is not a legal order: node 0 (compute) at position 0 "
            "comes before node 1 (compute) at position 1, on which it depends "
            "(data)");
}

TEST(IterativeReordering, RejectsMultipliersThatMakeNoTimes) {
  Problem problem;
  problem.addWait(addStart(problem, 10));
  addCompute(problem, 10);
  problem.finalize();
  for (double bad : {-1.0, std::nan(""), 1e18}) {
    IterativeReorderingOptions options;
    options.commMultiplier = bad;
    Result<IterativeReordering> result = reorderComms(problem, options);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().find("node 0 (start) takes "), 0u)
        << result.error();
    options = {};
    options.computeMultiplier = bad;
    result = sinkWaitsIteratively(problem, options);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().find("node 2 (compute) takes "), 0u)
        << result.error();
  }
}

} // namespace
