//===- IterativeReorderingTest.cpp - Tests of iterative reordering --------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IterativeReorderingHelpers.h"
#include "TestProblems.h"

#include <cmath>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::schedule::testing;

namespace {

// What is looked at, and what stops it
//===----------------------------------------------------------------------===//

TEST(ReorderComms, RaisesToTheTop) {
  Problem problem;
  NodeId before = addCompute(problem, 1);
  NodeId other = addCompute(problem, 1, {before});
  NodeId start = addStart(problem, 1);
  NodeId wait = problem.addWait(start);
  problem.finalize();
  IterativeReordering result = raise(problem);
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
  IterativeReordering result = sink(problem);
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
  result = sink(problem, passStarts);
  EXPECT_EQ(result.order, (Order{start, mm, next, last, nextWait, wait}));
}

TEST(IterativeReordering, WithoutCollectivesNothingHappens) {
  Problem problem;
  addCompute(problem, 1);
  problem.addNode(NodeKind::Blocking, 1, 0);
  problem.finalize();
  for (const IterativeReordering &result : {raise(problem), sink(problem)}) {
    EXPECT_EQ(result.order, programOrder(problem));
    EXPECT_TRUE(result.collectives.empty());
  }
  Problem empty;
  empty.finalize();
  EXPECT_TRUE(raise(empty).order.empty());
  EXPECT_TRUE(sink(empty).order.empty());
}

TEST(IterativeReordering, ACollectiveInItsPlaceStaysThere) {
  // A coalesced reduce_scatter of the arguments, a sum, the wait.
  Problem problem;
  NodeId start = addStart(problem, 1);
  addCompute(problem, 1);
  NodeId wait = problem.addWait(start);
  problem.finalize();
  IterativeReordering sunk = sink(problem), raised = raise(problem);
  for (const IterativeReordering &result : {sunk, raised}) {
    EXPECT_EQ(result.order, programOrder(problem));
    ASSERT_EQ(result.collectives.size(), 1u);
    EXPECT_EQ(result.collectives[0].moves, 0);
    EXPECT_EQ(result.collectives[0].limit, MoveLimit::None);
  }
  EXPECT_EQ(sunk.collectives[0].node, wait);
  EXPECT_EQ(raised.collectives[0].node, start);
}

TEST(IterativeReordering, ACollectiveOfAnothersResultStaysBehindIt) {
  // An all_gather over one axis, and one of its result over another.
  Problem problem;
  NodeId gather0 = addStart(problem, 1);
  NodeId wait0 = problem.addWait(gather0);
  NodeId gather1 = addStart(problem, 1, {wait0}, /*stream=*/1);
  NodeId wait1 = problem.addWait(gather1);
  problem.finalize();
  IterativeReordering raised = raise(problem);
  EXPECT_EQ(raised.order, programOrder(problem));
  ASSERT_EQ(raised.collectives.size(), 2u);
  EXPECT_EQ(movesOf(raised, gather0).limit, MoveLimit::None);
  EXPECT_EQ(movesOf(raised, gather1).moves, 0);
  EXPECT_EQ(movesOf(raised, gather1).grouped, 1);
  EXPECT_EQ(movesOf(raised, gather1).limit, MoveLimit::Dependence);
  EXPECT_EQ(movesOf(raised, gather1).obstacle, gather0);
  IterativeReordering sunk = sink(problem);
  EXPECT_EQ(sunk.order, programOrder(problem));
  EXPECT_EQ(movesOf(sunk, wait0).moves, 0);
  EXPECT_EQ(movesOf(sunk, wait0).limit, MoveLimit::Collective);
  EXPECT_EQ(movesOf(sunk, wait1).limit, MoveLimit::None);
}

TEST(IterativeReordering, PassesInTurnRaiseMergedGathersWithWhatTheyCopy) {
  // Twice: a product, two casts, the merged all_gather of both, the merged
  // reduce_scatter of gradients that are there; all results at the end.
  Problem problem;
  NodeId mms[2], casts[2][2], gathers[2], scatters[2];
  std::vector<NodeId> waits;
  for (int i : {0, 1}) {
    mms[i] = addCompute(problem, 100);
    problem.setExpensive(mms[i]);
    casts[i][0] = addCompute(problem, 1);
    casts[i][1] = addCompute(problem, 1);
    gathers[i] = addStart(problem, 50, {casts[i][0], casts[i][1]});
    waits.push_back(problem.addWait(gathers[i]));
    scatters[i] = addStart(problem, 50, {}, /*stream=*/1);
    waits.push_back(problem.addWait(scatters[i]));
    // The streams keep their order.
    if (i == 1) {
      problem.addDependence(gathers[0], gathers[1], DependenceKind::Order);
      problem.addDependence(scatters[0], scatters[1], DependenceKind::Order);
    }
  }
  problem.finalize();
  IterativeReordering first = raise(problem);
  EXPECT_EQ(movesOf(first, gathers[0]).grouped, 2);
  EXPECT_EQ(movesOf(first, gathers[0]).moves, 1);
  EXPECT_EQ(movesOf(first, gathers[0]).limit, MoveLimit::None);
  EXPECT_EQ(movesOf(first, gathers[1]).grouped, 2);
  EXPECT_EQ(movesOf(first, gathers[1]).limit, MoveLimit::Dependence);
  EXPECT_EQ(movesOf(first, gathers[1]).dependence, DependenceKind::Order);
  EXPECT_EQ(movesOf(first, gathers[1]).obstacle, gathers[0]);
  IterativeReordering second = sink(renumber(problem, first.order));
  Problem sunk = renumber(renumber(problem, first.order), second.order);
  IterativeReordering third = raise(sunk);
  Order order;
  for (NodeId place : third.order)
    order.push_back(first.order[second.order[place]]);
  auto placeOf = [&](NodeId node) {
    return std::find(order.begin(), order.end(), node) - order.begin();
  };
  for (NodeId start : {gathers[0], gathers[1], scatters[0], scatters[1]})
    EXPECT_LT(placeOf(start), placeOf(mms[0]));
  for (NodeId wait : waits)
    EXPECT_GT(placeOf(wait), placeOf(mms[1]));
  for (int i : {0, 1})
    for (NodeId cast : casts[i])
      EXPECT_LT(placeOf(cast), placeOf(gathers[i]));
}

TEST(ReorderComms, TakesCheapOperationsAlong) {
  Problem problem;
  NodeId mm = addCompute(problem, 10);
  problem.setExpensive(mm);
  NodeId other = addCompute(problem, 1);
  NodeId cast = addCompute(problem, 1, {mm});
  NodeId copy = addCompute(problem, 1, {cast});
  NodeId start = addStart(problem, 1, {copy});
  NodeId wait = problem.addWait(start);
  problem.finalize();
  IterativeReordering result = raise(problem);
  EXPECT_EQ(result.order, (Order{mm, cast, copy, start, other, wait}));
  CollectiveMoves moved = movesOf(result, start);
  EXPECT_EQ(moved.moves, 1);
  EXPECT_EQ(moved.grouped, 2);
  EXPECT_EQ(moved.limit, MoveLimit::Dependence);
  EXPECT_EQ(moved.dependence, DependenceKind::Data);
  EXPECT_EQ(moved.obstacle, mm);
  // By times, it takes that one along as well.
  EXPECT_EQ(movesOf(raise(problem, withEstimations()), start).grouped, 3);
}

TEST(SinkWaitsIteratively, TakesCheapOperationsAlongButNoWait) {
  Problem problem;
  NodeId first = addStart(problem, 1);
  NodeId second = addStart(problem, 1);
  NodeId wait = problem.addWait(first);
  NodeId cast = addCompute(problem, 1, {wait});
  NodeId other = addCompute(problem, 1);
  NodeId next = problem.addWait(second);
  problem.addDependence(cast, next, DependenceKind::Memory);
  problem.finalize();
  IterativeReordering result = sink(problem);
  EXPECT_EQ(result.order, (Order{first, second, other, wait, cast, next}));
  CollectiveMoves moved = movesOf(result, wait);
  EXPECT_EQ(moved.moves, 1);
  EXPECT_EQ(moved.grouped, 1);
  EXPECT_EQ(moved.limit, MoveLimit::Dependence);
  EXPECT_EQ(moved.dependence, DependenceKind::Memory);
  EXPECT_EQ(moved.obstacle, next);
}

TEST(IterativeReordering, TakesBarriersAlong) {
  // Once a blocking collective, once an unknown operation. What a barrier may
  // not cross stops the group as it would stop the barrier.
  for (NodeKind kind : {NodeKind::Blocking, NodeKind::Compute}) {
    SCOPED_TRACE(toString(kind));
    bool isBlocking = kind == NodeKind::Blocking;
    auto addIt = [&](Problem &problem) {
      return problem.addNode(kind, 1, isBlocking ? 0 : noStream);
    };
    Problem up;
    NodeId first = addStart(up, 1);
    NodeId wait = up.addWait(first);
    up.setExpensive(addCompute(up, 1, {wait}));
    NodeId call = addIt(up);
    NodeId start = addStart(up, 1);
    up.addDependence(wait, call, DependenceKind::Barrier);
    up.addDependence(call, start, DependenceKind::Barrier);
    NodeId wait2 = up.addWait(start);
    up.finalize();
    CollectiveMoves moved = movesOf(raise(up), start);
    EXPECT_EQ(moved.grouped, 2);
    EXPECT_EQ(raise(up).order, (Order{first, wait, call, start, 2, wait2}));
    EXPECT_EQ(moved.obstacle, first);

    Problem down;
    NodeId downWait = down.addWait(addStart(down, 1));
    call = addIt(down);
    down.addDependence(downWait, call, DependenceKind::Barrier);
    NodeId mm = addCompute(down, 1);
    down.finalize();
    // Without estimations waits take no collective along.
    moved = movesOf(sink(down), downWait);
    EXPECT_EQ(moved.limit,
              isBlocking ? MoveLimit::Dependence : MoveLimit::None);
    EXPECT_EQ(moved.grouped, isBlocking ? 0 : 1);
    moved = movesOf(sink(down, withEstimations()), downWait);
    EXPECT_EQ(moved.grouped, 1);
    EXPECT_EQ(sink(down, withEstimations()).order,
              (Order{0, mm, downWait, call}));
  }
}

TEST(SinkWaitsIteratively, PassesCollectivesWithABlockingOneOnlyIfUnsafe) {
  Problem problem;
  NodeId start = addStart(problem, 100);
  NodeId wait = problem.addWait(start);
  NodeId barrier = problem.addNode(NodeKind::Blocking, 1, 0);
  problem.addDependence(wait, barrier, DependenceKind::Barrier);
  NodeId other = addStart(problem, 1, {}, /*stream=*/1);
  addCompute(problem, 1);
  problem.addWait(other);
  problem.finalize();
  IterativeReorderingOptions options = withEstimations();
  options.withCollectives = true;
  EXPECT_EQ(movesOf(sink(problem, options), wait).moves, 2);
  options.reorderCollectives = false;
  CollectiveMoves moved = movesOf(sink(problem, options), wait);
  EXPECT_EQ(moved.limit, MoveLimit::Collective);
  EXPECT_EQ(moved.obstacle, other);
  EXPECT_EQ(moved.grouped, 1);
}

TEST(ReorderComms, AStartPassesCollectivesUnlessTheirOrderIsKept) {
  Problem problem;
  NodeId first = addStart(problem, 1);
  NodeId mm = addCompute(problem, 1);
  NodeId barrier = problem.addNode(NodeKind::Blocking, 1, 0);
  NodeId wait = problem.addWait(first);
  NodeId second = addStart(problem, 1);
  NodeId wait2 = problem.addWait(second);
  problem.finalize();
  EXPECT_EQ(raise(problem).order,
            (Order{second, first, mm, barrier, wait, wait2}));
  IterativeReorderingOptions keep;
  keep.reorderCollectives = false;
  IterativeReordering result = raise(problem, keep);
  EXPECT_EQ(result.order, (Order{first, mm, barrier, second, wait, wait2}));
  EXPECT_EQ(movesOf(result, second).limit, MoveLimit::Collective);
  EXPECT_EQ(movesOf(result, second).obstacle, barrier);
}

TEST(ReorderComms, TakesWaitsAlongAndStartsIfAsked) {
  Problem problem;
  NodeId mm = addCompute(problem, 1);
  NodeId first = addStart(problem, 1, {mm});
  NodeId other = addCompute(problem, 1);
  NodeId wait = problem.addWait(first);
  NodeId cast = addCompute(problem, 1, {wait});
  NodeId second = addStart(problem, 1, {cast});
  NodeId wait2 = problem.addWait(second);
  problem.setExpensive(mm);
  problem.finalize();
  Order raised = {mm, first, wait, cast, second, other, wait2};
  IterativeReordering result = raise(problem);
  EXPECT_EQ(result.order, raised);
  EXPECT_EQ(movesOf(result, second).moves, 1);
  EXPECT_EQ(movesOf(result, second).grouped, 2);
  EXPECT_EQ(movesOf(result, second).obstacle, first);
  IterativeReorderingOptions options;
  options.withCollectives = true;
  result = raise(problem, options);
  EXPECT_EQ(result.order, raised);
  EXPECT_EQ(movesOf(result, second).grouped, 3);
  EXPECT_EQ(movesOf(result, second).obstacle, mm);
}

TEST(IterativeReordering, ABufferIsADependenceOfItsOwn) {
  // A weaker reason is known as well, but the data dependence is reported.
  Problem problem;
  NodeId start = addStart(problem, 1);
  NodeId wait = problem.addWait(start);
  NodeId first = addCompute(problem, 1);
  problem.setExpensive(first);
  NodeId second = addStart(problem, 1);
  NodeId wait2 = problem.addWait(second);
  BufferId result = problem.addBuffer(8, wait, true);
  problem.addUse(result, first);
  problem.addDependence(wait, first, DependenceKind::Order);
  BufferId operand = problem.addBuffer(8, first, true);
  problem.addUse(operand, second);
  problem.addUse(operand, wait2);
  problem.addDependence(first, second, DependenceKind::Order);
  problem.finalize();
  for (const CollectiveMoves &moved :
       {movesOf(raise(problem), second), movesOf(sink(problem), wait)}) {
    EXPECT_EQ(moved.limit, MoveLimit::Dependence);
    EXPECT_EQ(moved.obstacle, first);
    EXPECT_EQ(moved.dependence, DependenceKind::Data);
  }
}

TEST(IterativeReordering, MovesOnlySoManyCollectives) {
  Problem problem;
  NodeId mm = addCompute(problem, 1);
  NodeId first = addStart(problem, 1);
  NodeId wait = problem.addWait(first);
  NodeId second = addStart(problem, 1, {wait});
  NodeId wait2 = problem.addWait(second);
  NodeId last = addCompute(problem, 1);
  problem.finalize();
  IterativeReorderingOptions options;
  options.maxCollectives = 1;
  IterativeReordering raised = raise(problem, options);
  ASSERT_EQ(raised.collectives.size(), 1u);
  EXPECT_EQ(raised.order, (Order{first, mm, wait, second, wait2, last}));
  IterativeReordering sunk = sink(problem, options);
  ASSERT_EQ(sunk.collectives.size(), 1u);
  EXPECT_EQ(sunk.order, (Order{mm, first, wait, second, last, wait2}));
  options.maxCollectives = 0;
  EXPECT_TRUE(raise(problem, options).collectives.empty());
  EXPECT_EQ(sink(problem, options).order, programOrder(problem));
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
