//===- MinCutTest.cpp - Tests of the minimum cut of a joint graph ---------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/MinCut.h"
#include "../Seeds.h"
#include "RandomJointGraph.h"
#include "ReferenceMinCut.h"
#include "TestGraphs.h"

using namespace mlir::commsched;
using namespace mlir::commsched::partition;
using namespace mlir::commsched::partition::testing;
using mlir::commsched::testing::Seeds;

static PartitionResult<std::vector<NodeId>>
cut(const JointGraph &graph, const CutOptions &options = {}) {
  Classification classes = expectNoConflict(classify(graph));
  return solveMinCut(graph, classes, options,
                     findBans(graph, classes, options));
}

static std::vector<NodeId> cutOrFail(const JointGraph &graph,
                                     const CutOptions &options = {}) {
  return expectNoConflict(cut(graph, options));
}

TEST(MinCut, SavesTheSmallerOfTwo) {
  GraphBuilder b;
  NodeId x = b.input(1 << 20), dy = b.tangent(64);
  NodeId product = b.matmul(1 << 10, {x});
  NodeId a = b.pointwise(1 << 12, {product});
  NodeId dx = b.pointwise(64, {a, dy});
  JointGraph graph = b.finish({a}, {dx});
  EXPECT_EQ(cutOrFail(graph), std::vector<NodeId>{product});
}

TEST(MinCut, AnArgumentThatStaysIsFreeToSave) {
  GraphBuilder b;
  NodeId p = b.parameter(1 << 20), dy = b.tangent(64);
  NodeId a = b.pointwise(1 << 19, {p});
  NodeId dx = b.pointwise(64, {a, dy});
  JointGraph graph = b.finish({a}, {dx});
  EXPECT_EQ(cutOrFail(graph), std::vector<NodeId>{p});
  CutOptions options;
  options.treatParametersAsFreeToSave = false;
  EXPECT_EQ(cutOrFail(graph, options), std::vector<NodeId>{a});
  graph[p].isFreeable = true;
  EXPECT_EQ(cutOrFail(graph), std::vector<NodeId>{a});
}

TEST(MinCut, SavesWhatAViewShows) {
  GraphBuilder b;
  NodeId x = b.input(1 << 20), dy = b.tangent(64);
  NodeId product = b.matmul(64, {x});
  NodeId view = b.view(product);
  NodeId dx = b.matmul(64, {view, dy});
  JointGraph graph = b.finish({view}, {dx});
  EXPECT_EQ(cutOrFail(graph), std::vector<NodeId>{product});
  CutOptions options;
  options.recomputeViews = false;
  // The view is nearer to the backward, and counts like any other value.
  EXPECT_EQ(cutOrFail(graph, options), std::vector<NodeId>{view});
}

TEST(MinCut, SavesOneResultOfSeveral) {
  GraphBuilder b;
  NodeId x = b.input(1 << 20), dy = b.tangent(64);
  NodeId attention = b.multiple(OperatorClass::ComputeIntensive, {x});
  NodeId out = b.result(attention, 64);
  NodeId lse = b.result(attention, 8);
  NodeId dx = b.op(OperatorClass::Other, 64, {lse, dy});
  JointGraph graph = b.finish({out}, {dx});
  EXPECT_EQ(cutOrFail(graph), std::vector<NodeId>{lse});
}

TEST(MinCut, SavesWhatACollectiveDelivers) {
  GraphBuilder b;
  NodeId x = b.input(8), dy = b.tangent(64);
  NodeId wait = b.wait(b.start({x}), 64);
  NodeId dx = b.matmul(64, {wait, dy});
  JointGraph graph = b.finish({wait}, {dx});
  EXPECT_EQ(cutOrFail(graph), std::vector<NodeId>{wait});
}

TEST(MinCut, NamesWhatContradicts) {
  GraphBuilder b;
  NodeId p = b.parameter(8), dy = b.tangent(64);
  NodeId start = b.start({p});
  NodeId wait = b.wait(start, 64);
  b[wait].policy = RecomputePolicy::MustRecompute;
  NodeId dx = b.matmul(64, {wait, dy});
  JointGraph graph = b.finish({wait}, {dx});
  PartitionConflict conflict = expectConflict(cut(graph));
  EXPECT_EQ(conflict.node, start);
  EXPECT_EQ(conflict.reason, "cannot be computed again, for it communicates, "
                             "and is no value that can be saved");
  EXPECT_EQ(conflict.other, wait);
  EXPECT_EQ(conflict.otherReason, "has to be computed again");
}

//===----------------------------------------------------------------------===//
// Against all choices
//===----------------------------------------------------------------------===//

TEST(MinCut, NoChoiceWeighsLess) {
  int numCuts = 0, numSaved = 0;
  for (uint64_t seed : Seeds(600)) {
    RandomJointOptions shape;
    shape.maxForwardOperations = 10;
    shape.maxBackwardOperations = 8;
    JointGraph graph = makeRandomJointGraph(seed, shape);
    PartitionResult<Classification> classified = classify(graph);
    auto *classes = std::get_if<Classification>(&classified);
    if (!classes)
      continue;
    CutOptions options;
    options.recomputeViews = seed % 2;
    options.treatParametersAsFreeToSave = seed % 3 != 0;
    if (reference::getCandidates(graph, *classes, options).size() > 14)
      continue;
    std::vector<BanReason> bans = findBans(graph, *classes, options);
    PartitionResult<std::vector<NodeId>> result =
        solveMinCut(graph, *classes, options, bans);
    std::optional<int64_t> least =
        reference::findLeastWeight(graph, *classes, options, bans);
    auto *saved = std::get_if<std::vector<NodeId>>(&result);
    ASSERT_EQ(saved != nullptr, least.has_value()) << "seed " << seed;
    if (!saved)
      continue;
    EXPECT_EQ(reference::getWeight(graph, *classes, options, *saved), *least)
        << "seed " << seed;
    EXPECT_TRUE(reference::isCut(graph, *classes, bans, *saved))
        << "seed " << seed;
    ++numCuts;
    numSaved += static_cast<int>(saved->size());
  }
  EXPECT_GT(numCuts, 30);
  EXPECT_GT(numSaved, 30);
}
