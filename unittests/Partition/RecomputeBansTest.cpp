//===- RecomputeBansTest.cpp - Tests of bans and policies of recomputation ===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/Classification.h"
#include "CommSched/Partition/MinCut.h"
#include "TestGraphs.h"
#include <functional>
#include <queue>

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

static std::vector<BanReason> ban(const JointGraph &graph,
                                  const CutOptions &options = {}) {
  return findBans(graph, expectNoConflict(classify(graph)), options);
}

using Bans = std::vector<BanReason>;
using B = BanReason;

TEST(RecomputeBans, ByClass) {
  TextGraph graph(R"(
    x = input 64; a = pointwise 64 x; v = view a; m = mm 64 v
    o = other 64 m; r = random 64 o; s = start r; w = wait 64 s; return w)");
  EXPECT_EQ(ban(graph),
            (Bans{B::Argument, B::None, B::None, B::NotInAllowlist,
                  B::NotInAllowlist, B::Random, B::Collective, B::Collective}));
  CutOptions options;
  options.banRecomputeNotInAllowlist = false;
  EXPECT_EQ(ban(graph, options),
            (Bans{B::Argument, B::None, B::None, B::ComputeIntensive, B::None,
                  B::Random, B::Collective, B::Collective}));
}

TEST(RecomputeBans, AreHardOrForAPrice) {
  TextGraph graph(R"(
    x = input 64; random = random 64 x; m = mm 64 random
    pinned = pointwise 64 m : pinned
    kept = pointwise 64 pinned : must-be-forward
    saved = pointwise 64 kept : must-save
    rather = pointwise 64 saved : prefer-save; return rather)");
  Bans bans = ban(graph);
  EXPECT_EQ(bans,
            (Bans{B::Argument, B::Random, B::NotInAllowlist, B::KeptInForward,
                  B::KeptInForward, B::MustSave, B::PreferSave}));
  for (NodeId node = 0; node < graph.size(); ++node)
    EXPECT_EQ(isHard(bans[node]),
              node != graph.id("m") && node != graph.id("rather"))
        << node;
}

TEST(RecomputeBans, UsersComeFirst) {
  TextGraph graph(R"(
    x = input 64; must = mm 64 x : must-recompute
    prefer = mm 64 must : prefer-recompute
    random = random 64 prefer : prefer-recompute; return random)");
  // A preference does not make random numbers come again.
  EXPECT_EQ(ban(graph), (Bans{B::Argument, B::None, B::None, B::Random}));
}

TEST(RecomputeBans, GathersAreRepeatedIfTheyMayBe) {
  TextGraph graph(R"(
    p = parameter 8; x = input 8; gather = start p; gathered = wait 64 gather
    reduce = start x; reduced = wait 64 reduce; return gathered reduced)");
  CutOptions options;
  options.repeatGathers = true;
  options.banRecomputeNotInAllowlist = false;
  // Tokens cannot be saved, so only the result of the wait is banned.
  EXPECT_EQ(ban(graph, options),
            (Bans{B::Argument, B::Argument, B::None, B::ComputeIntensive,
                  B::Collective, B::Collective}));
}

TEST(RecomputeBans, Reductions) {
  TextGraph graph(R"(
    x = input 64; quarter = reduction 16 x; less = reduction 15 x
    half = reduction 31 x x; return quarter less half)");
  CutOptions options;
  options.banRecomputeUsedFarApart = false;
  EXPECT_EQ(ban(graph, options),
            (Bans{B::Argument, B::None, B::Reduction, B::Reduction}));
  options.banRecomputeReductions = false;
  EXPECT_EQ(ban(graph, options)[graph.id("less")], B::None);
}

TEST(RecomputeBans, FarFromTheBackward) {
  TextGraph graph(R"(
    x = input 64; dy = tangent 64; a = pointwise 64 x; c = pointwise 64 a
    d = pointwise 64 c; dx = pointwise 64 d dy; unused = pointwise 64 x
    return d unused | dx)");
  CutOptions options;
  options.maxDistFromBw = 2;
  Bans bans = ban(graph, options);
  EXPECT_EQ(bans[graph.id("a")], B::FarFromBackward);
  EXPECT_EQ(bans[graph.id("c")], B::None);
  EXPECT_EQ(bans[graph.id("unused")], B::None);
}

TEST(RecomputeBans, LongFusibleChains) {
  TextGraph graph("-1 = input 64;" + repeat(110, "$ = pointwise 64 ^;") +
                  "return 109");
  Bans bans = ban(graph);
  for (NodeId node = 1; node < graph.size(); ++node)
    EXPECT_EQ(bans[node], node == 102 ? B::LongFusibleChain : B::None) << node;
  CutOptions options;
  options.banRecomputeLongFusibleChains = false;
  EXPECT_EQ(ban(graph, options)[102], B::None);
}

TEST(RecomputeBans, AnOperationOfNoValueIsNotBannedForItsPrice) {
  TextGraph graph(R"(
    x = input 64; opaque = other 0 x : opaque; attention = several mm x
    first = result 64 attention; return opaque first)");
  EXPECT_EQ(ban(graph),
            (Bans{B::Argument, B::None, B::NotInAllowlist, B::None}));
}

//===----------------------------------------------------------------------===//
// Against a search from every node, which takes quadratic time and follows the
// rules literally: the library computes the same bans in one pass.
//===----------------------------------------------------------------------===//

static bool areNodesFusible(const JointGraph &graph, NodeId producer,
                            NodeId consumer) {
  auto classOf = [&](NodeId node) {
    return graph[node].kind == JointNodeKind::Result
               ? OperatorClass::DataMovement
               : graph[node].operatorClass;
  };
  return areFusible(classOf(producer), classOf(consumer));
}

static bool isViewOperation(const JointGraph &graph, NodeId node) {
  return graph[node].kind == JointNodeKind::Operation &&
         graph[node].operatorClass == OperatorClass::View;
}

/// Whether an operation that the forward does not need reads `node`, or a view
/// of it, and cannot be computed together with what it reads.
static bool isMaterializedBackward(const JointGraph &graph,
                                   const Classification &classes, NodeId node) {
  std::set<NodeId> open = {node};
  std::set<NodeId> seen = open;
  while (!open.empty()) {
    NodeId current = *open.begin();
    open.erase(open.begin());
    for (NodeId user : graph.getUsers(current)) {
      if (!classes.requiredForward[user] &&
          !areNodesFusible(graph, current, user))
        return true;
      if (isViewOperation(graph, user) && seen.insert(user).second)
        open.insert(user);
    }
  }
  return false;
}

/// The users of `node` in the forward that are fusible with it, but behind the
/// first operation that ends a chain of fusible operations from any of its
/// users, if that is not behind the last user.
static std::vector<NodeId> findUsesFarApart(const JointGraph &graph,
                                            const Classification &classes,
                                            NodeId node) {
  int32_t range = -1;
  using Entry = std::tuple<int32_t, NodeId, bool>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue;
  std::set<Entry> seen;
  for (NodeId user : graph.getUsers(node))
    if (classes.requiredForward[user]) {
      range = std::max(range, classes.forwardOrder[user]);
      queue.push({classes.forwardOrder[user], user, true});
    }
  int32_t firstUnfusible = range;
  while (!queue.empty()) {
    auto [order, current, isFusible] = queue.top();
    queue.pop();
    if (!isFusible) {
      firstUnfusible = order;
      break;
    }
    for (NodeId user : graph.getUsers(current)) {
      if (!classes.requiredForward[user] || classes.forwardOrder[user] > range)
        continue;
      Entry entry = {classes.forwardOrder[user], user,
                     areNodesFusible(graph, current, user)};
      if (seen.insert(entry).second)
        queue.push(entry);
    }
  }
  std::vector<NodeId> far;
  for (NodeId user : graph.getUsers(node))
    if (classes.requiredForward[user] &&
        classes.forwardOrder[user] > firstUnfusible &&
        areNodesFusible(graph, node, user))
      far.push_back(user);
  return far;
}

static bool hasResults(const JointGraph &graph, NodeId node) {
  for (NodeId user : graph.getUsers(node))
    if (graph[user].kind == JointNodeKind::Result)
      return true;
  return false;
}

TEST(RecomputeBans, FindWhatSearchesFind) {
  int numMaterialized = 0, numFarApart = 0;
  for (uint64_t seed : Seeds(1000)) {
    JointGraph graph = makeRandomJointGraph(seed, {});
    PartitionResult<Classification> classified = classify(graph);
    auto *classes = std::get_if<Classification>(&classified);
    if (!classes)
      continue;
    CutOptions options;
    options.banRecomputeNotInAllowlist = false;
    options.banRecomputeReductions = false;
    options.banRecomputeLongFusibleChains = false;
    options.banRecomputeUsedFarApart = false;
    std::vector<BanReason> bans = findBans(graph, *classes, options);
    for (NodeId node = 0; node < graph.size(); ++node) {
      if (bans[node] != BanReason::None &&
          bans[node] != BanReason::MaterializedBackward)
        continue;
      const JointNode &data = graph[node];
      bool isCandidate = classes->requiredForward[node] &&
                         (data.isSaveable || hasResults(graph, node)) &&
                         data.kind == JointNodeKind::Operation &&
                         data.operatorClass != OperatorClass::View &&
                         data.operatorClass != OperatorClass::Constant &&
                         !isToBeRecomputed(data);
      bool expected =
          isCandidate && isMaterializedBackward(graph, *classes, node);
      EXPECT_EQ(bans[node] == BanReason::MaterializedBackward, expected)
          << "node " << node;
      numMaterialized += expected;
    }

    options.banRecomputeMaterializedBackward = false;
    options.banRecomputeUsedFarApart = true;
    bans = findBans(graph, *classes, options);
    std::vector<char> isFar(graph.size(), 0);
    for (NodeId node = 0; node < graph.size(); ++node)
      if (classes->requiredForward[node])
        for (NodeId user : findUsesFarApart(graph, *classes, node))
          isFar[user] = 1;
    for (NodeId node = 0; node < graph.size(); ++node) {
      if (bans[node] == BanReason::UsedFarApart) {
        EXPECT_TRUE(isFar[node]) << "node " << node;
        ++numFarApart;
      } else if (bans[node] == BanReason::None && isFar[node]) {
        const JointNode &data = graph[node];
        EXPECT_TRUE((!data.isSaveable && !hasResults(graph, node)) ||
                    isToBeRecomputed(data) ||
                    data.kind == JointNodeKind::Result ||
                    data.operatorClass == OperatorClass::View ||
                    data.operatorClass == OperatorClass::Constant)
            << "node " << node;
      }
    }
  }
  EXPECT_GT(numMaterialized, 30);
  EXPECT_GT(numFarApart, 10);
}
