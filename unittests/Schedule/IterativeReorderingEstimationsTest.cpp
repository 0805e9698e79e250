//===- IterativeReorderingEstimationsTest.cpp - Estimated gains -----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IterativeReorderingHelpers.h"
#include "TestProblems.h"

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::schedule::testing;

namespace {

TEST(IterativeReordering, StopsWhenTheCollectiveIsHidden) {
  // Ten operations of 10 ns on either side of a collective of 20 ns.
  Problem problem;
  for (int i = 0; i < 10; ++i)
    addCompute(problem, 10);
  NodeId start = addStart(problem, 20);
  NodeId wait = problem.addWait(start);
  for (int i = 0; i < 10; ++i)
    addCompute(problem, 10);
  problem.finalize();
  struct Case {
    double extraOverlap, commMultiplier, computeMultiplier;
    int64_t moves;
  };
  // It goes on until computation lasts longer than (1 + extra) times the
  // collective, each multiplied.
  for (Case it : {Case{0, 1, 1, 3}, Case{0.5, 1, 1, 4}, Case{0.5, 2, 1, 7},
                  Case{0.5, 2, 3, 3}, Case{0, 0, 1, 1}, Case{4, 2, 1, 10}}) {
    IterativeReorderingOptions options;
    options.useRuntimeEstimations = true;
    options.extraOverlap = it.extraOverlap;
    options.commMultiplier = it.commMultiplier;
    options.computeMultiplier = it.computeMultiplier;
    for (const CollectiveMoves &moved :
         {movesOf(raise(problem, options), start),
          movesOf(sink(problem, options), wait)}) {
      EXPECT_EQ(moved.moves, it.moves);
      EXPECT_EQ(moved.limit,
                it.moves == 10 ? MoveLimit::None : MoveLimit::Hidden);
      EXPECT_EQ(moved.obstacle, noNode);
    }
  }
}

TEST(ReorderComms, WeighsWhatTheCollectivesOfAbsorbedWaitsLose) {
  // Raising the second collective takes the first one's wait along, which then
  // has `mm` no longer beside it.
  for (int64_t secondNs : {15, 5}) {
    Problem problem;
    NodeId first = addStart(problem, 10);
    NodeId mm = addCompute(problem, 10);
    NodeId wait = problem.addWait(first);
    NodeId second = addStart(problem, secondNs, {wait});
    NodeId beside = addCompute(problem, 5);
    NodeId wait2 = problem.addWait(second);
    problem.finalize();
    IterativeReordering result = raise(problem, withEstimations());
    CollectiveMoves moved = movesOf(result, second);
    EXPECT_EQ(moved.grouped, 1);
    if (secondNs == 15) {
      // It gains as much: 10 of 10 ns.
      EXPECT_EQ(result.order, (Order{first, wait, second, mm, beside, wait2}));
      EXPECT_EQ(moved.limit, MoveLimit::Dependence);
    } else {
      EXPECT_EQ(result.order, programOrder(problem));
      EXPECT_EQ(moved.limit, MoveLimit::Exposure);
      EXPECT_EQ(moved.obstacle, mm);
    }
  }
}

TEST(ReorderComms, TakesNoComputationFromACollectiveThatNeedsIt) {
  // `pack` would leave the window of the first collective.
  for (int64_t spareNs : {0, 4}) {
    Problem problem;
    NodeId first = addStart(problem, 10);
    NodeId mm = addCompute(problem, 6 + spareNs);
    NodeId pack = addCompute(problem, 4);
    NodeId second = addStart(problem, 100, {pack}, /*stream=*/1);
    NodeId wait = problem.addWait(first);
    NodeId wait2 = problem.addWait(second);
    problem.finalize();
    IterativeReordering result = raise(problem, withEstimations());
    CollectiveMoves moved = movesOf(result, second);
    if (spareNs > 0) {
      EXPECT_EQ(result.order, (Order{pack, second, first, mm, wait, wait2}));
      EXPECT_EQ(moved.limit, MoveLimit::None);
    } else {
      EXPECT_EQ(result.order, (Order{first, pack, second, mm, wait, wait2}));
      EXPECT_EQ(moved.limit, MoveLimit::Exposure);
      EXPECT_EQ(moved.obstacle, first);
    }
  }
}

TEST(SinkWaitsIteratively, TakesNoBlockingTimeFromACollectiveThatNeedsIt) {
  // The barrier or `unpack` would leave the window of the second collective, of
  // which the reference counts only the barrier.
  for (bool isBlocking : {false, true}) {
    Problem problem;
    NodeId first = addStart(problem, 100);
    NodeId second = addStart(problem, 10, {}, /*stream=*/1);
    NodeId wait = problem.addWait(first);
    NodeId next = isBlocking ? problem.addNode(NodeKind::Blocking, 4, 0)
                             : addCompute(problem, 4);
    problem.addDependence(wait, next, DependenceKind::Data);
    NodeId mm = addCompute(problem, 6);
    NodeId wait2 = problem.addWait(second);
    problem.finalize();
    IterativeReordering result = sink(problem, withEstimations());
    CollectiveMoves moved = movesOf(result, wait);
    EXPECT_EQ(moved.grouped, 1);
    if (isBlocking) {
      EXPECT_EQ(result.order, (Order{first, second, mm, wait, next, wait2}));
      EXPECT_EQ(moved.limit, MoveLimit::Exposure);
      EXPECT_EQ(moved.obstacle, wait2);
    } else {
      EXPECT_EQ(result.order, (Order{first, second, mm, wait2, wait, next}));
      EXPECT_EQ(moved.limit, MoveLimit::None);
    }
  }
}

} // namespace
