//===- RecomputePoliciesTest.cpp - Tests of recomputation policies --------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/RecomputePolicies.h"
#include "TestGraphs.h"

using namespace mlir::commsched;
using namespace mlir::commsched::partition;
using namespace mlir::commsched::partition::testing;

static void settle(JointGraph &graph, CollectivePolicy collectives) {
  settlePolicies(graph, expectNoConflict(classify(graph)), collectives);
}

TEST(RecomputePolicies, ACollectiveHasOne) {
  GraphBuilder b;
  NodeId x = b.input(8);
  NodeId start = b.start({x}), wait = b.wait(start, 8);
  b[wait].policy = RecomputePolicy::MustRecompute;
  NodeId start2 = b.start({x}), wait2 = b.wait(start2, 8);
  b[start2].policy = RecomputePolicy::MustSave;
  JointGraph graph = b.finish({wait, wait2}, {});
  settle(graph, CollectivePolicy::Save);
  EXPECT_EQ(graph[start].policy, RecomputePolicy::MustRecompute);
  EXPECT_EQ(graph[wait2].policy, RecomputePolicy::MustSave);
  EXPECT_EQ(graph[start2].policy, RecomputePolicy::None);
}

TEST(RecomputePolicies, ResultsHaveThatOfTheirOperation) {
  GraphBuilder b;
  NodeId x = b.input(8);
  NodeId norm = b.multiple(OperatorClass::Reduction, {x});
  NodeId mean = b.result(norm, 8);
  b[norm].policy = RecomputePolicy::PreferRecompute;
  // A preference does not apply to operations that cannot be repeated.
  NodeId dropout = b.multiple(OperatorClass::Random, {x});
  NodeId mask = b.result(dropout, 8);
  for (NodeId node : {dropout, mask})
    b[node].policy = RecomputePolicy::PreferRecompute;
  JointGraph graph = b.finish({}, {mean, mask});
  settle(graph, CollectivePolicy::Save);
  EXPECT_EQ(graph[mean].policy, RecomputePolicy::PreferRecompute);
  EXPECT_EQ(graph[mask].policy, RecomputePolicy::None);
}

TEST(RecomputePolicies, SavesBetweenRegions) {
  GraphBuilder b;
  NodeId x = b.input(8), p = b.parameter(8);
  NodeId gathered = b.wait(b.start({p}), 8);
  NodeId inner = b.pointwise(8, {x});
  NodeId border = b.pointwise(8, {inner});
  NodeId next = b.pointwise(8, {border, gathered});
  NodeId back = b.pointwise(8, {inner, next});
  for (NodeId node : {gathered, inner, border})
    b[node].region = 0;
  b[next].region = 1;
  b[back].region = 0;
  for (NodeId node : {gathered, inner, border, next, back})
    b[node].policy = RecomputePolicy::MustRecompute;
  JointGraph graph = b.finish({back}, {});
  settle(graph, CollectivePolicy::Save);
  EXPECT_EQ(graph[border].policy, RecomputePolicy::MustSave);
  EXPECT_EQ(graph[inner].policy, RecomputePolicy::MustRecompute);
  // Computing a parameter again needs nothing of earlier regions.
  EXPECT_EQ(graph[gathered].policy, RecomputePolicy::MustRecompute);
  EXPECT_EQ(graph[next].policy, RecomputePolicy::MustRecompute);
}

TEST(RecomputePolicies, GathersAgain) {
  GraphBuilder b;
  NodeId p = b.parameter(8), q = b.parameter(8), x = b.input(8);
  NodeId start = b.start({p}), wait = b.wait(start, 64);
  NodeId view = b.view(wait);
  NodeId kept = b.wait(b.start({q}), 64);
  b[kept].policy = RecomputePolicy::MustSave;
  NodeId keptView = b.view(kept);
  NodeId activation = b.wait(b.start({x}), 64);
  NodeId y = b.matmul(64, {view, keptView, activation});
  JointGraph graph = b.finish({y}, {});
  settle(graph, CollectivePolicy::Recompute);
  for (NodeId node : {start, wait, view})
    EXPECT_EQ(graph[node].policy, RecomputePolicy::MustRecompute) << node;
  EXPECT_EQ(graph[kept].policy, RecomputePolicy::MustSave);
  for (NodeId node : {keptView, activation, y})
    EXPECT_EQ(graph[node].policy, RecomputePolicy::None) << node;
}

TEST(RecomputePolicies, GathersAgainWhatIsHidden) {
  GraphBuilder b;
  NodeId p = b.parameter(8), q = b.parameter(8);
  NodeId free = b.start({p}, /*cost=*/0), freeWait = b.wait(free, 64);
  NodeId dear = b.start({q}, /*cost=*/5), dearWait = b.wait(dear, 64);
  JointGraph graph = b.finish({freeWait, dearWait}, {});
  settle(graph, CollectivePolicy::Cost);
  EXPECT_EQ(graph[free].policy, RecomputePolicy::MustRecompute);
  EXPECT_EQ(graph[freeWait].policy, RecomputePolicy::MustRecompute);
  EXPECT_EQ(graph[dear].policy, RecomputePolicy::None);
  EXPECT_EQ(graph[dearWait].policy, RecomputePolicy::None);
}

TEST(GatherPrices, AreWhatComputationDoesNotHide) {
  GraphBuilder b;
  NodeId p = b.parameter(8), q = b.parameter(8), r = b.parameter(8);
  NodeId dy = b.tangent(8);
  NodeId early = b.start({p}, 30), late = b.start({q}, 50);
  NodeId unused = b.start({r}, 70);
  NodeId earlyWait = b.wait(early, 64), lateWait = b.wait(late, 64);
  NodeId unusedWait = b.wait(unused, 64);
  NodeId lateView = b.view(lateWait);
  // The stream: early 0-30, late 30-80. Computation: 20, early's use waits till
  // 30, runs to 60, late's use waits till 80.
  NodeId first = b.matmul(64, {dy}, 20);
  NodeId second = b.matmul(64, {first, earlyWait}, 30);
  NodeId third = b.matmul(64, {second, lateView}, 5);
  JointGraph graph = b.finish({unusedWait}, {third});
  priceGathers(graph, expectNoConflict(classify(graph)));
  EXPECT_EQ(graph[early].cost, 10);
  EXPECT_EQ(graph[late].cost, 20);
  EXPECT_EQ(graph[unused].cost, 70);
}

/// The price of a gather of `cost` that shares its stream with a collective of
/// the backward from 100 to 140, and is used at 100.
static int64_t priceBesideScatter(int64_t cost) {
  GraphBuilder b;
  NodeId p = b.parameter(8), dy = b.tangent(8);
  NodeId gather = b.start({p}, cost), gathered = b.wait(gather, 64);
  NodeId a = b.matmul(64, {dy}, 100);
  NodeId scatter = b.start({a}, 40);
  NodeId scattered = b.wait(scatter, 8);
  NodeId c = b.matmul(64, {a, gathered}, 5);
  JointGraph graph = b.finish({}, {scattered, c});
  priceGathers(graph, expectNoConflict(classify(graph)));
  EXPECT_EQ(graph[scatter].cost, 40);
  return graph[gather].cost;
}

TEST(GatherPrices, CountTheBackwardsOwnCollectives) {
  // The stream is free before the scatter.
  EXPECT_EQ(priceBesideScatter(100), 0);
  // The remainder that does not fit there follows it, to 170.
  EXPECT_EQ(priceBesideScatter(130), 70);
}
