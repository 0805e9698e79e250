//===- IterativeReorderingMemoryTest.cpp - Tests of memory limits ---------===//
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

TEST(ReorderComms, TheLimitHoldsToTheByte) {
  Problem problem;
  NodeId make = addCompute(problem, 1);
  NodeId use = addCompute(problem, 1);
  NodeId start = addStart(problem, 1);
  NodeId wait = problem.addWait(start);
  addFreed(problem, 100, make, {use});
  addKept(problem, 10, use);
  addKept(problem, 50, start);
  problem.finalize();
  // Started before `use`, it is there beside both buffers.
  IterativeReordering stopped = raise(problem, withLimit(159));
  EXPECT_EQ(stopped.order, programOrder(problem));
  EXPECT_EQ(stopped.oldPeakBytes, 110);
  EXPECT_EQ(stopped.newPeakBytes, 110);
  CollectiveMoves moved = movesOf(stopped, start);
  EXPECT_EQ(moved.moves, 0);
  EXPECT_EQ(moved.limit, MoveLimit::Memory);
  EXPECT_EQ(moved.obstacle, use);
  EXPECT_EQ(moved.neededBytes, 160);
  IterativeReordering passed = raise(problem, withLimit(160));
  EXPECT_EQ(passed.order, (Order{start, make, use, wait}));
  EXPECT_EQ(passed.newPeakBytes, 160);
  EXPECT_EQ(movesOf(passed, start).limit, MoveLimit::None);
  EXPECT_EQ(movesOf(passed, start).neededBytes, 0);
}

TEST(SinkWaitsIteratively, TheLimitHoldsToTheByte) {
  Problem problem;
  NodeId start = addStart(problem, 1);
  NodeId wait = problem.addWait(start);
  NodeId cheap = addCompute(problem, 1);
  NodeId mm = addCompute(problem, 1);
  addFreed(problem, 30, start, {wait});
  addKept(problem, 5, cheap);
  addKept(problem, 100, mm);
  problem.finalize();
  IterativeReordering stopped = sink(problem, withLimit(134));
  EXPECT_EQ(stopped.order, (Order{start, cheap, wait, mm}));
  CollectiveMoves moved = movesOf(stopped, wait);
  EXPECT_EQ(moved.moves, 1);
  EXPECT_EQ(moved.limit, MoveLimit::Memory);
  EXPECT_EQ(moved.obstacle, mm);
  EXPECT_EQ(moved.neededBytes, 135);
  IterativeReordering passed = sink(problem, withLimit(135));
  EXPECT_EQ(passed.order, (Order{start, cheap, mm, wait}));
  EXPECT_EQ(passed.newPeakBytes, 135);
}

TEST(ReorderComms, WhoeverIsPassedFreesWhatItSharesWithTheGroup) {
  Problem problem;
  NodeId make = addCompute(problem, 1);
  NodeId other = addCompute(problem, 1);
  NodeId pack = addCompute(problem, 1);
  NodeId start = addStart(problem, 1, {pack});
  problem.addWait(start);
  problem.setExpensive(make);
  addFreed(problem, 100, make, {other, pack});
  addKept(problem, 50, other);
  addKept(problem, 10, pack);
  addKept(problem, 20, start);
  problem.finalize();
  // `pack` frees the 100 bytes as long as `other` comes before it.
  IterativeReordering stopped = raise(problem, withLimit(179));
  EXPECT_EQ(stopped.oldPeakBytes, 160);
  CollectiveMoves moved = movesOf(stopped, start);
  EXPECT_EQ(moved.grouped, 1);
  EXPECT_EQ(moved.limit, MoveLimit::Memory);
  EXPECT_EQ(moved.obstacle, other);
  EXPECT_EQ(moved.neededBytes, 180);
  EXPECT_EQ(stopped.order, programOrder(problem));
  EXPECT_EQ(raise(problem, withLimit(180)).newPeakBytes, 180);
}

TEST(SinkWaitsIteratively, TheGroupFreesWhatItSharesWithThosePassed) {
  Problem problem;
  NodeId make = addCompute(problem, 1);
  NodeId start = addStart(problem, 1);
  NodeId wait = problem.addWait(start);
  NodeId add = addCompute(problem, 1, {wait});
  NodeId other = addCompute(problem, 1);
  NodeId mm = addCompute(problem, 1);
  addFreed(problem, 100, make, {add, other});
  addKept(problem, 10, start);
  addKept(problem, 30, add);
  addKept(problem, 40, other);
  addKept(problem, 70, mm);
  problem.finalize();
  // Having passed `other`, the group keeps the 100 bytes until `add`. A solver
  // with stale last uses would count them as freed.
  IterativeReordering stopped = sink(problem, withLimit(249));
  EXPECT_EQ(stopped.order, (Order{make, start, other, wait, add, mm}));
  CollectiveMoves moved = movesOf(stopped, wait);
  EXPECT_EQ(moved.moves, 1);
  EXPECT_EQ(moved.grouped, 1);
  EXPECT_EQ(moved.limit, MoveLimit::Memory);
  EXPECT_EQ(moved.obstacle, mm);
  EXPECT_EQ(moved.neededBytes, 250);
  EXPECT_EQ(sink(problem, withLimit(250)).order,
            (Order{make, start, other, mm, wait, add}));
}

TEST(ReorderComms, AGroupIsJudgedWhereItStands) {
  // `pack` needs 100 bytes while it runs. Where it starts nothing else is live,
  // but further up are first 150 bytes and then 300.
  Problem problem;
  NodeId makeA = addCompute(problem, 1);
  NodeId makeB = addCompute(problem, 1);
  NodeId useA = addCompute(problem, 1);
  NodeId useB = addCompute(problem, 1);
  NodeId pack = addCompute(problem, 1);
  NodeId start = addStart(problem, 1, {pack});
  NodeId wait = problem.addWait(start);
  addFreed(problem, 150, makeA, {useA});
  addFreed(problem, 150, makeB, {useB});
  addFreed(problem, 100, pack);
  problem.finalize();
  IterativeReordering stopped = raise(problem, withLimit(399));
  EXPECT_EQ(stopped.order,
            (Order{makeA, makeB, useA, pack, start, useB, wait}));
  CollectiveMoves moved = movesOf(stopped, start);
  EXPECT_EQ(moved.moves, 1);
  EXPECT_EQ(moved.limit, MoveLimit::Memory);
  EXPECT_EQ(moved.obstacle, useA);
  EXPECT_EQ(moved.neededBytes, 400);
  EXPECT_EQ(raise(problem, withLimit(400)).order,
            (Order{pack, start, makeA, makeB, useA, useB, wait}));
}

TEST(SinkWaitsIteratively, AGroupIsJudgedWhereItStands) {
  Problem problem;
  NodeId start = addStart(problem, 1);
  NodeId wait = problem.addWait(start);
  NodeId unpack = addCompute(problem, 1, {wait});
  NodeId makeA = addCompute(problem, 1);
  NodeId makeB = addCompute(problem, 1);
  addFreed(problem, 100, unpack);
  addKept(problem, 150, makeA);
  addKept(problem, 150, makeB);
  problem.finalize();
  IterativeReordering stopped = sink(problem, withLimit(399));
  EXPECT_EQ(stopped.order, (Order{start, makeA, wait, unpack, makeB}));
  EXPECT_EQ(movesOf(stopped, wait).limit, MoveLimit::Memory);
  EXPECT_EQ(movesOf(stopped, wait).obstacle, makeB);
  EXPECT_EQ(movesOf(stopped, wait).neededBytes, 400);
  EXPECT_EQ(sink(problem, withLimit(400)).newPeakBytes, 400);
}

TEST(ReorderComms, ArgumentsAreLiveUntilTheirLastUse) {
  for (bool freed : {false, true}) {
    Problem problem;
    NodeId use = addCompute(problem, 1);
    NodeId start = addStart(problem, 1);
    problem.addWait(start);
    problem.addUse(problem.addBuffer(100, noNode, freed), use);
    addKept(problem, 50, start);
    problem.finalize();
    IterativeReordering stopped = raise(problem, withLimit(149));
    EXPECT_EQ(stopped.oldPeakBytes, freed ? 100 : 150);
    EXPECT_EQ(movesOf(stopped, start).limit, MoveLimit::Memory);
    EXPECT_EQ(movesOf(stopped, start).obstacle, use);
    EXPECT_EQ(movesOf(stopped, start).neededBytes, 150);
    EXPECT_EQ(raise(problem, withLimit(150)).newPeakBytes, 150);
  }
}

TEST(IterativeReordering, WhereThePeakIsOverTheLimitItGrowsNoFurther) {
  Problem problem;
  NodeId big = addCompute(problem, 1);
  NodeId small = addCompute(problem, 1);
  NodeId start = addStart(problem, 1);
  NodeId wait = problem.addWait(start);
  addFreed(problem, 100, big);
  addKept(problem, 1, small);
  addKept(problem, 10, start);
  problem.finalize();
  IterativeReordering result = raise(problem, withLimit(50));
  EXPECT_EQ(result.order, (Order{big, start, small, wait}));
  EXPECT_EQ(result.newPeakBytes, 100);
  EXPECT_EQ(movesOf(result, start).obstacle, big);
  EXPECT_EQ(movesOf(result, start).neededBytes, 110);
}

} // namespace
