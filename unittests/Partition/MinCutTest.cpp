//===- MinCutTest.cpp - Tests of the minimum cut of a joint graph ---------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/MinCut.h"
#include "ReferenceMinCut.h"
#include "TestGraphs.h"

using namespace mlir::commsched::partition::testing;

static PartitionResult<std::vector<NodeId>>
cut(const JointGraph &graph, const CutOptions &options = {}) {
  Classification classes = expectNoConflict(classify(graph));
  return solveMinCut(graph, classes, options,
                     findBans(graph, classes, options));
}

static std::string cutOrFail(const TextGraph &graph,
                             const CutOptions &options = {}) {
  return graph.tell(expectNoConflict(cut(graph, options)));
}

TEST(MinCut, AnArgumentThatStaysIsFreeToSave) {
  TextGraph graph(R"(
    p = parameter 1000000; dy = tangent 64; a = pointwise 500000 p
    dx = pointwise 64 a dy; return a | dx)");
  EXPECT_EQ(cutOrFail(graph), "p");
  CutOptions options;
  options.treatParametersAsFreeToSave = false;
  EXPECT_EQ(cutOrFail(graph, options), "a");
  graph["p"].isFreeable = true;
  EXPECT_EQ(cutOrFail(graph), "a");
}

TEST(MinCut, NamesWhatContradicts) {
  TextGraph graph(R"(
    p = parameter 8; dy = tangent 64; s = start p
    w = wait 64 s : must-recompute; dx = mm 64 w dy; return w | dx)");
  PartitionConflict conflict = expectConflict(cut(graph));
  EXPECT_EQ(graph.tell({conflict.node, conflict.other}), "s w");
  EXPECT_EQ(conflict.reason, "cannot be computed again, for it communicates, "
                             "and is no value that can be saved");
  EXPECT_EQ(conflict.otherReason, "has to be computed again");
}

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
    ASSERT_EQ(saved != nullptr, least.has_value());
    if (!saved)
      continue;
    EXPECT_EQ(reference::getWeight(graph, *classes, options, *saved), *least);
    EXPECT_TRUE(reference::findComputed(graph, *classes, bans, *saved));
    ++numCuts;
    numSaved += static_cast<int>(saved->size());
  }
  EXPECT_GT(numCuts, 30);
  EXPECT_GT(numSaved, 30);
}
