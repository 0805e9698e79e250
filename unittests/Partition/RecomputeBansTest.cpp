//===- RecomputeBansTest.cpp - Tests of recomputation bans ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Seeds.h"
#include "CommSched/Partition/MinCut.h"
#include "RandomJointGraph.h"
#include "ReferenceBans.h"
#include "TestGraphs.h"

using namespace mlir::commsched;
using namespace mlir::commsched::partition;
using namespace mlir::commsched::partition::testing;
using mlir::commsched::testing::Seeds;

static std::vector<BanReason> ban(const JointGraph &graph,
                                  const CutOptions &options = {}) {
  return findBans(graph, expectNoConflict(classify(graph)), options);
}

TEST(RecomputeBans, ByClass) {
  GraphBuilder b;
  NodeId x = b.input(64);
  NodeId pointwise = b.pointwise(64, {x});
  NodeId view = b.view(pointwise);
  NodeId matmul = b.matmul(64, {view});
  NodeId other = b.op(OperatorClass::Other, 64, {matmul});
  NodeId random = b.op(OperatorClass::Random, 64, {other});
  NodeId start = b.start({random});
  NodeId wait = b.wait(start, 64);
  JointGraph graph = b.finish({wait}, {});
  std::vector<BanReason> bans = ban(graph);
  EXPECT_EQ(bans[x], BanReason::Argument);
  EXPECT_EQ(bans[pointwise], BanReason::None);
  EXPECT_EQ(bans[view], BanReason::None);
  EXPECT_EQ(bans[matmul], BanReason::NotInAllowlist);
  EXPECT_EQ(bans[other], BanReason::NotInAllowlist);
  EXPECT_EQ(bans[random], BanReason::Random);
  EXPECT_EQ(bans[start], BanReason::Collective);
  EXPECT_EQ(bans[wait], BanReason::Collective);

  CutOptions options;
  options.banRecomputeNotInAllowlist = false;
  bans = ban(graph, options);
  EXPECT_EQ(bans[matmul], BanReason::ComputeIntensive);
  EXPECT_EQ(bans[other], BanReason::None);
  EXPECT_EQ(bans[random], BanReason::Random);
}

TEST(RecomputeBans, AreHardOrForAPrice) {
  GraphBuilder b;
  NodeId x = b.input(64);
  NodeId random = b.op(OperatorClass::Random, 64, {x});
  NodeId matmul = b.matmul(64, {random});
  NodeId pinned = b.pointwise(64, {matmul});
  b[pinned].isPinned = true;
  NodeId kept = b.pointwise(64, {pinned});
  b[kept].tag = PartitionTag::MustBeForward;
  NodeId saved = b.pointwise(64, {kept});
  b[saved].policy = RecomputePolicy::MustSave;
  NodeId rather = b.pointwise(64, {saved});
  b[rather].policy = RecomputePolicy::PreferSave;
  JointGraph graph = b.finish({rather}, {});
  std::vector<BanReason> bans = ban(graph);
  EXPECT_EQ(bans[pinned], BanReason::KeptInForward);
  EXPECT_EQ(bans[kept], BanReason::KeptInForward);
  EXPECT_EQ(bans[saved], BanReason::MustSave);
  EXPECT_EQ(bans[rather], BanReason::PreferSave);
  for (NodeId node : {x, random, pinned, kept, saved})
    EXPECT_TRUE(isHard(bans[node])) << node;
  for (NodeId node : {matmul, rather})
    EXPECT_FALSE(isHard(bans[node])) << node;
}

TEST(RecomputeBans, UsersComeFirst) {
  GraphBuilder b;
  NodeId x = b.input(64);
  NodeId must = b.matmul(64, {x});
  b[must].policy = RecomputePolicy::MustRecompute;
  NodeId prefer = b.matmul(64, {must});
  b[prefer].policy = RecomputePolicy::PreferRecompute;
  NodeId random = b.op(OperatorClass::Random, 64, {prefer});
  b[random].policy = RecomputePolicy::PreferRecompute;
  JointGraph graph = b.finish({random}, {});
  std::vector<BanReason> bans = ban(graph);
  EXPECT_EQ(bans[must], BanReason::None);
  EXPECT_EQ(bans[prefer], BanReason::None);
  // A preference does not make random numbers come again.
  EXPECT_EQ(bans[random], BanReason::Random);
}

TEST(RecomputeBans, GathersAreRepeatedIfTheyMayBe) {
  GraphBuilder b;
  NodeId p = b.parameter(8), x = b.input(8);
  NodeId gather = b.start({p});
  NodeId gathered = b.wait(gather, 64);
  NodeId reduced = b.wait(b.start({x}), 64);
  JointGraph graph = b.finish({gathered, reduced}, {});
  CutOptions options;
  options.repeatGathers = true;
  options.banRecomputeNotInAllowlist = false;
  std::vector<BanReason> bans = ban(graph, options);
  // Tokens cannot be saved, so only the result of the wait is banned.
  EXPECT_EQ(bans[gather], BanReason::None);
  EXPECT_EQ(bans[gathered], BanReason::ComputeIntensive);
  EXPECT_EQ(bans[reduced], BanReason::Collective);
}

TEST(RecomputeBans, Reductions) {
  GraphBuilder b;
  NodeId x = b.input(64);
  NodeId quarter = b.op(OperatorClass::Reduction, 16, {x});
  NodeId less = b.op(OperatorClass::Reduction, 15, {x});
  NodeId half = b.op(OperatorClass::Reduction, 31, {x, x});
  JointGraph graph = b.finish({quarter, less, half}, {});
  CutOptions options;
  options.banRecomputeUsedFarApart = false;
  std::vector<BanReason> bans = ban(graph, options);
  EXPECT_EQ(bans[quarter], BanReason::None);
  EXPECT_EQ(bans[less], BanReason::Reduction);
  EXPECT_EQ(bans[half], BanReason::Reduction);
  options.banRecomputeReductions = false;
  EXPECT_EQ(ban(graph, options)[less], BanReason::None);
}

TEST(RecomputeBans, MaterializedInTheBackward) {
  GraphBuilder b;
  NodeId x = b.input(64), dy = b.tangent(64);
  NodeId a = b.pointwise(64, {x});
  NodeId c = b.pointwise(64, {x});
  NodeId y = b.pointwise(64, {a, c});
  // A product reads a view of a; a pointwise operation reads c.
  NodeId view = b.view(a);
  NodeId dw = b.matmul(64, {view, dy});
  NodeId dx = b.pointwise(64, {c, dy});
  JointGraph graph = b.finish({y}, {dw, dx});
  std::vector<BanReason> bans = ban(graph);
  EXPECT_EQ(bans[a], BanReason::MaterializedBackward);
  EXPECT_EQ(bans[c], BanReason::None);
  CutOptions options;
  options.banRecomputeMaterializedBackward = false;
  EXPECT_EQ(ban(graph, options)[a], BanReason::None);
}

TEST(RecomputeBans, FarFromTheBackward) {
  GraphBuilder b;
  NodeId x = b.input(64), dy = b.tangent(64);
  NodeId a = b.pointwise(64, {x});
  NodeId c = b.pointwise(64, {a});
  NodeId d = b.pointwise(64, {c});
  NodeId dx = b.pointwise(64, {d, dy});
  NodeId unused = b.pointwise(64, {x});
  JointGraph graph = b.finish({d, unused}, {dx});
  CutOptions options;
  options.maxDistFromBw = 2;
  std::vector<BanReason> bans = ban(graph, options);
  EXPECT_EQ(bans[a], BanReason::FarFromBackward);
  EXPECT_EQ(bans[c], BanReason::None);
  EXPECT_EQ(bans[unused], BanReason::None);
}

TEST(RecomputeBans, UsedFarApart) {
  GraphBuilder b;
  NodeId x = b.input(64);
  NodeId a = b.pointwise(64, {x});
  NodeId near = b.pointwise(64, {a});
  NodeId product = b.matmul(64, {near});
  NodeId far = b.pointwise(64, {a, product});
  JointGraph graph = b.finish({far}, {});
  std::vector<BanReason> bans = ban(graph);
  EXPECT_EQ(bans[near], BanReason::None);
  EXPECT_EQ(bans[far], BanReason::UsedFarApart);
  CutOptions options;
  options.banRecomputeUsedFarApart = false;
  EXPECT_EQ(ban(graph, options)[far], BanReason::None);
}

TEST(RecomputeBans, LongFusibleChains) {
  GraphBuilder b;
  NodeId node = b.input(64);
  std::vector<NodeId> chain = {node};
  for (int i = 0; i < 110; ++i)
    chain.push_back(node = b.pointwise(64, {node}));
  JointGraph graph = b.finish({node}, {});
  std::vector<BanReason> bans = ban(graph);
  for (size_t i = 1; i < chain.size(); ++i)
    EXPECT_EQ(bans[chain[i]],
              i == 102 ? BanReason::LongFusibleChain : BanReason::None)
        << i;
  CutOptions options;
  options.banRecomputeLongFusibleChains = false;
  EXPECT_EQ(ban(graph, options)[chain[102]], BanReason::None);
}

TEST(RecomputeBans, AnOperationOfNoValueIsNotBannedForItsPrice) {
  GraphBuilder b;
  NodeId x = b.input(64);
  NodeId opaque = b.op(OperatorClass::Other, 0, {x});
  b[opaque].isSaveable = false;
  NodeId attention = b.multiple(OperatorClass::ComputeIntensive, {x});
  NodeId first = b.result(attention, 64);
  JointGraph graph = b.finish({opaque, first}, {});
  std::vector<BanReason> bans = ban(graph);
  EXPECT_EQ(bans[opaque], BanReason::None);
  EXPECT_EQ(bans[attention], BanReason::NotInAllowlist);
  EXPECT_EQ(bans[first], BanReason::None);
}

//===----------------------------------------------------------------------===//
// Against plain searches
//===----------------------------------------------------------------------===//

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
      bool expected = isCandidate &&
                      reference::isMaterializedBackward(graph, *classes, node);
      EXPECT_EQ(bans[node] == BanReason::MaterializedBackward, expected)
          << "seed " << seed << ", node " << node;
      numMaterialized += expected;
    }

    options.banRecomputeMaterializedBackward = false;
    options.banRecomputeUsedFarApart = true;
    bans = findBans(graph, *classes, options);
    std::vector<char> isFar(graph.size(), 0);
    for (NodeId node = 0; node < graph.size(); ++node)
      if (classes->requiredForward[node])
        for (NodeId user : reference::findUsesFarApart(graph, *classes, node))
          isFar[user] = 1;
    for (NodeId node = 0; node < graph.size(); ++node) {
      if (bans[node] == BanReason::UsedFarApart) {
        EXPECT_TRUE(isFar[node]) << "seed " << seed << ", node " << node;
        ++numFarApart;
      } else if (bans[node] == BanReason::None && isFar[node]) {
        const JointNode &data = graph[node];
        EXPECT_TRUE((!data.isSaveable && !hasResults(graph, node)) ||
                    isToBeRecomputed(data) ||
                    data.kind == JointNodeKind::Result ||
                    data.operatorClass == OperatorClass::View ||
                    data.operatorClass == OperatorClass::Constant)
            << "seed " << seed << ", node " << node;
      }
    }
  }
  EXPECT_GT(numMaterialized, 30);
  EXPECT_GT(numFarApart, 10);
}
