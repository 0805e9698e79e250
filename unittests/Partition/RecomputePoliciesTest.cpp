//===- RecomputePoliciesTest.cpp - Tests of recomputation policies --------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/Classification.h"
#include "TestGraphs.h"

using namespace mlir::commsched::partition::testing;

/// The policies of nodes once they are settled.
static std::vector<RecomputePolicy>
settle(TextGraph graph, const std::string &nodes,
       CollectivePolicy collectives = CollectivePolicy::Save) {
  settlePolicies(graph, expectNoConflict(classify(graph)), collectives);
  std::vector<RecomputePolicy> policies;
  for (NodeId node : graph.list(nodes))
    policies.push_back(graph[node].policy);
  return policies;
}

using P = RecomputePolicy;
using Policies = std::vector<P>;

TEST(RecomputePolicies, ACollectiveHasOne) {
  EXPECT_EQ(settle(TextGraph(R"(
              x = input 8; a = start x; aWait = wait 8 a : must-recompute
              b = start x : must-save; bWait = wait 8 b; return aWait bWait)"),
                   "a b bWait"),
            (Policies{P::MustRecompute, P::None, P::MustSave}));
}

TEST(RecomputePolicies, ResultsHaveThatOfTheirOperation) {
  // A preference does not apply to operations that cannot be repeated.
  EXPECT_EQ(settle(TextGraph(R"(
              x = input 8; norm = several reduction x : prefer-recompute
              mean = result 8 norm
              dropout = several random x : prefer-recompute
              mask = result 8 dropout : prefer-recompute
              return | mean mask)"),
                   "mean mask"),
            (Policies{P::PreferRecompute, P::None}));
}

TEST(RecomputePolicies, SavesBetweenRegions) {
  // Computing a parameter again needs nothing of earlier regions.
  EXPECT_EQ(settle(TextGraph(R"(
              x = input 8; p = parameter 8; gather = start p
              gathered = wait 8 gather : region=0 must-recompute
              inner = pointwise 8 x : region=0 must-recompute
              border = pointwise 8 inner : region=0 must-recompute
              next = pointwise 8 border gathered : region=1 must-recompute
              back = pointwise 8 inner next : region=0 must-recompute
              return back)"),
                   "border inner gathered next"),
            (Policies{P::MustSave, P::MustRecompute, P::MustRecompute,
                      P::MustRecompute}));
}

TEST(RecomputePolicies, GathersAgain) {
  const Policies again(3, P::MustRecompute);
  TextGraph graph(R"(
    p = parameter 8; q = parameter 8; x = input 8; a = start p
    aWait = wait 64 a; aView = view aWait; b = start q
    kept = wait 64 b : must-save; keptView = view kept; c = start x
    activation = wait 64 c; y = mm 64 aView keptView activation; return y)");
  EXPECT_EQ(settle(graph, "a aWait aView", CollectivePolicy::Recompute), again);
  EXPECT_EQ(
      settle(graph, "kept keptView activation y", CollectivePolicy::Recompute),
      (Policies{P::MustSave, P::None, P::None, P::None}));
}

TEST(RecomputePolicies, GathersAgainWhatIsHidden) {
  EXPECT_EQ(settle(TextGraph(R"(
              p = parameter 8; q = parameter 8
              free = start p : cost=0; freeWait = wait 64 free
              dear = start q : cost=5; dearWait = wait 64 dear
              return freeWait dearWait)"),
                   "free freeWait dear dearWait", CollectivePolicy::Cost),
            (Policies{P::MustRecompute, P::MustRecompute, P::None, P::None}));
}

/// The prices of nodes.
static std::vector<int64_t> price(TextGraph graph, const std::string &nodes) {
  priceGathers(graph, expectNoConflict(classify(graph)));
  std::vector<int64_t> prices;
  for (NodeId node : graph.list(nodes))
    prices.push_back(graph[node].cost);
  return prices;
}

using Prices = std::vector<int64_t>;

TEST(GatherPrices, AreWhatComputationDoesNotHide) {
  // The stream: early 0-30, late 30-80. Computation: 20, early's use waits till
  // 30, runs to 60, late's use waits till 80.
  EXPECT_EQ(price(TextGraph(R"(
              p = parameter 8; q = parameter 8; r = parameter 8; dy = tangent 8
              early = start p : cost=30; late = start q : cost=50
              unused = start r : cost=70; earlyWait = wait 64 early
              lateWait = wait 64 late; unusedWait = wait 64 unused
              lateView = view lateWait; first = mm 64 dy : cost=20
              second = mm 64 first earlyWait : cost=30
              third = mm 64 second lateView : cost=5
              return unusedWait | third)"),
                  "early late unused"),
            (Prices{10, 20, 70}));
}

TEST(GatherPrices, CountTheBackwardsOwnCollectives) {
  // A gather shares its stream with a collective of the backward from 100 to
  // 140, and is used at 100.
  auto priceBesideScatter = [](const std::string &cost) {
    return price(
        "p = parameter 8; dy = tangent 8; gather = start p : cost=" + cost + R"(
                 gathered = wait 64 gather; a = mm 64 dy
                 scatter = start a : cost=40; scattered = wait 8 scatter
                 c = mm 64 a gathered : cost=5; return | scattered c)",
        "gather scatter");
  };
  // The stream is free before the scatter.
  EXPECT_EQ(priceBesideScatter("100"), (Prices{0, 40}));
  // The remainder that does not fit there follows it, to 170.
  EXPECT_EQ(priceBesideScatter("130"), (Prices{70, 40}));
}
