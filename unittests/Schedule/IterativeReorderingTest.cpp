//===- IterativeReorderingTest.cpp - Collectives one step at a time -------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/IterativeReordering.h"

#include "TestProblems.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace commsched;
using namespace commsched::testing;

namespace {

IterativeReorderingOptions withLimit(int64_t bytes) {
  IterativeReorderingOptions options;
  options.limitBytes = bytes;
  return options;
}

/// Decides by times as they are, and goes on until a collective is just hidden.
IterativeReorderingOptions withEstimations() {
  IterativeReorderingOptions options;
  options.useRuntimeEstimations = true;
  options.extraOverlap = 0;
  options.commMultiplier = 1;
  return options;
}

IterativeReordering expectResult(const Result<IterativeReordering> &result) {
  EXPECT_TRUE(result) << result.error();
  return result ? *result : IterativeReordering();
}

IterativeReordering raise(const Problem &problem,
                          const IterativeReorderingOptions &options = {}) {
  return expectResult(reorderComms(problem, options));
}

IterativeReordering sink(const Problem &problem,
                         const IterativeReorderingOptions &options = {}) {
  return expectResult(sinkWaitsIteratively(problem, options));
}

/// What became of `node`; an entry without node if it was not looked at.
CollectiveMoves movesOf(const IterativeReordering &result, NodeId node) {
  for (const CollectiveMoves &moved : result.collectives)
    if (moved.node == node)
      return moved;
  return {};
}

/// Adds a freed buffer of `bytes` that `producer` makes.
BufferId addFreed(Problem &problem, int64_t bytes, NodeId producer,
                  std::initializer_list<NodeId> users = {}) {
  BufferId buffer = problem.addBuffer(bytes, producer, /*freed=*/true);
  for (NodeId user : users) {
    problem.addUse(buffer, user);
    if (producer != noNode)
      problem.addDependence(producer, user, DependenceKind::Data);
  }
  return buffer;
}

/// Adds storage of `bytes` that `producer` makes and that stays.
void addKept(Problem &problem, int64_t bytes, NodeId producer) {
  problem.addBuffer(bytes, producer, /*freed=*/false);
}

//===----------------------------------------------------------------------===//
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

TEST(IterativeReordering, TakesNothingAlongThatCommunicates) {
  // Once a blocking collective, once an operation that nobody knows.
  for (NodeKind kind : {NodeKind::Blocking, NodeKind::Compute}) {
    SCOPED_TRACE(toString(kind));
    bool isBlocking = kind == NodeKind::Blocking;
    auto addIt = [&](Problem &problem) {
      return problem.addNode(kind, 1, isBlocking ? 0 : noStream);
    };
    Problem up;
    addCompute(up, 1);
    NodeId call = addIt(up);
    NodeId start = addStart(up, 1);
    up.addDependence(call, start, DependenceKind::Barrier);
    up.addWait(start);
    up.finalize();
    for (bool withCollectives : {false, true}) {
      IterativeReorderingOptions options = withEstimations();
      options.withCollectives = withCollectives;
      CollectiveMoves moved = movesOf(raise(up, options), start);
      EXPECT_EQ(moved.limit, MoveLimit::Dependence);
      EXPECT_EQ(moved.dependence, DependenceKind::Barrier);
      EXPECT_EQ(moved.obstacle, call);
    }
    Problem down;
    NodeId wait = down.addWait(addStart(down, 1));
    call = addIt(down);
    down.addDependence(wait, call, DependenceKind::Barrier);
    addCompute(down, 1);
    down.finalize();
    CollectiveMoves moved = movesOf(sink(down), wait);
    EXPECT_EQ(moved.limit, MoveLimit::Dependence);
    EXPECT_EQ(moved.dependence, DependenceKind::Barrier);
    EXPECT_EQ(moved.obstacle, call);
  }
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
  // A weaker reason is known as well, but the data is the one to tell.
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

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

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
  // Having passed `other`, the group keeps the 100 bytes until `add`: who goes
  // by the last use that once was takes them for freed.
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

//===----------------------------------------------------------------------===//
// Estimations
//===----------------------------------------------------------------------===//

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

TEST(SinkWaitsIteratively, TakesNoComputationFromACollectiveThatNeedsIt) {
  // `unpack` would leave the window of the second collective.
  for (int64_t spareNs : {0, 4}) {
    Problem problem;
    NodeId first = addStart(problem, 100);
    NodeId second = addStart(problem, 10, {}, /*stream=*/1);
    NodeId wait = problem.addWait(first);
    NodeId unpack = addCompute(problem, 4, {wait});
    NodeId mm = addCompute(problem, 6 + spareNs);
    NodeId wait2 = problem.addWait(second);
    problem.finalize();
    IterativeReordering result = sink(problem, withEstimations());
    CollectiveMoves moved = movesOf(result, wait);
    if (spareNs > 0) {
      EXPECT_EQ(result.order, (Order{first, second, mm, wait2, wait, unpack}));
      EXPECT_EQ(moved.limit, MoveLimit::None);
    } else {
      EXPECT_EQ(result.order, (Order{first, second, mm, wait, unpack, wait2}));
      EXPECT_EQ(moved.limit, MoveLimit::Exposure);
      EXPECT_EQ(moved.obstacle, wait2);
    }
  }
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

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
