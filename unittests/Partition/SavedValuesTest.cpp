//===- SavedValuesTest.cpp - Tests of the choice of saved values ----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/SavedValues.h"
#include "../Seeds.h"
#include "CommSched/Partition/RecomputePolicies.h"
#include "RandomJointGraph.h"
#include "TestGraphs.h"

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::partition;
using namespace mlir::commsched::partition::testing;
using mlir::commsched::testing::Seeds;

static std::vector<NodeId> saveAsEager(const JointGraph &graph) {
  return expectNoConflict(
             splitAsEager(graph, expectNoConflict(classify(graph))))
      .saved;
}

TEST(SplitAsEager, SavesWhatTheBackwardUses) {
  GraphBuilder b;
  NodeId x = b.input(64), p = b.parameter(64), dy = b.tangent(64);
  NodeId a = b.pointwise(64, {x});
  NodeId y = b.matmul(64, {a, p});
  NodeId da = b.matmul(64, {dy, p});
  NodeId dp = b.matmul(64, {a, dy});
  JointGraph graph = b.finish({y}, {da, dp});
  EXPECT_EQ(saveAsEager(graph), (std::vector<NodeId>{p, a}));
  (void)x;
}

TEST(SplitAsEager, ConstantsAndViewsAreMadeAgain) {
  GraphBuilder b;
  NodeId x = b.input(64), dy = b.tangent(64);
  NodeId one = b.op(OperatorClass::Constant, 4, {});
  NodeId a = b.pointwise(64, {x, one});
  NodeId left = b.view(a), right = b.view(a);
  NodeId y = b.matmul(64, {left, right});
  NodeId dx = b.matmul(64, {left, dy});
  NodeId dz = b.matmul(64, {right, dy, one});
  JointGraph graph = b.finish({y}, {dx, dz});
  EXPECT_EQ(saveAsEager(graph), std::vector<NodeId>{a});
}

TEST(SplitAsEager, WhatIsToldIsComputedAgain) {
  GraphBuilder b;
  NodeId x = b.input(64), dy = b.tangent(64);
  NodeId product = b.matmul(64, {x});
  b[product].policy = RecomputePolicy::MustRecompute;
  NodeId dx = b.matmul(64, {product, dy});
  JointGraph graph = b.finish({product}, {dx});
  EXPECT_EQ(saveAsEager(graph), std::vector<NodeId>{x});
}

TEST(SplitAsEager, TheForwardHasWhatIsTaggedSo) {
  for (PartitionTag tag : {PartitionTag::None, PartitionTag::Forward,
                           PartitionTag::MustBeForward}) {
    GraphBuilder b;
    NodeId x = b.input(64), dy = b.tangent(64);
    NodeId mask = b.pointwise(8, {x}); // No result of the forward needs it.
    b[mask].tag = tag;
    NodeId y = b.matmul(64, {x});
    NodeId dx = b.matmul(64, {mask, dy});
    JointGraph graph = b.finish({y}, {dx});
    EXPECT_EQ(saveAsEager(graph),
              std::vector<NodeId>{tag == PartitionTag::None ? x : mask});
  }
}

/// Layers of a product and a pointwise operation, each of which the backward
/// uses; the products of later layers cost more.
static JointGraph makeLayers(int numLayers) {
  GraphBuilder b;
  NodeId node = b.input(100), dy = b.tangent(100);
  std::vector<NodeId> values;
  for (int i = 0; i < numLayers; ++i) {
    node = b.matmul(100, {node}, /*cost=*/10 + i);
    values.push_back(node);
    node = b.pointwise(100, {node});
  }
  NodeId gradient = dy;
  for (int i = numLayers; i-- > 0;)
    gradient = b.matmul(100, {gradient, values[i]});
  return b.finish({node}, {gradient});
}

/// The rung whose knapsack has room for half the bytes: the first has room for
/// a step less than all.
static constexpr int32_t halfRung =
    SavedValuesLadder::firstKnapsack + SavedValuesLadder::numSteps / 2 - 1;

static SavedValuesLadder makeLadder(const JointGraph &graph,
                                    const Classification &classes,
                                    const SavedValuesOptions &options = {}) {
  return expectNoConflict(SavedValuesLadder::create(graph, classes, options));
}

TEST(SavedValuesLadder, KeepsWhatCostsMost) {
  JointGraph graph = makeLayers(10);
  Classification classes = expectNoConflict(classify(graph));
  for (KnapsackSolver solver :
       {KnapsackSolver::DynamicProgramming, KnapsackSolver::Greedy}) {
    SavedValuesOptions options;
    options.solver = solver;
    SavedValuesLadder ladder = makeLadder(graph, classes, options);
    EXPECT_EQ(ladder.getMostBytes(), 1000);
    Split half = expectNoConflict(ladder.solve(halfRung));
    EXPECT_EQ(computeSavedBytes(graph, half.saved), 500);
    std::vector<NodeId> expected = {0};
    for (int layer = 5; layer < 10; ++layer)
      expected.push_back(2 + 2 * layer);
    EXPECT_EQ(half.saved, expected);
    Split nothing =
        expectNoConflict(ladder.solve(SavedValuesLadder::size() - 1));
    EXPECT_EQ(nothing.saved, std::vector<NodeId>{0});
  }
}

TEST(SavedValuesLadder, ARepeatedGatherCountsWithItsPrice) {
  // Two gathers of one size; the second is dearer.
  GraphBuilder b;
  NodeId p = b.parameter(8), q = b.parameter(8), x = b.input(8);
  NodeId dy = b.tangent(64);
  NodeId cheap = b.wait(b.start({p}, 10), 64);
  NodeId dear = b.wait(b.start({q}, 20), 64);
  NodeId y = b.matmul(64, {cheap, dear, x});
  NodeId dx = b.matmul(64, {cheap, dear, dy});
  JointGraph graph = b.finish({y}, {dx});
  Classification classes = expectNoConflict(classify(graph));
  SavedValuesOptions options;
  options.cut.repeatGathers = true;
  SavedValuesLadder ladder = makeLadder(graph, classes, options);
  EXPECT_EQ(ladder.getMostBytes(), 128);
  EXPECT_EQ(expectNoConflict(ladder.solve(halfRung)).saved,
            (std::vector<NodeId>{p, dear}));
  options.cut.repeatGathers = false;
  EXPECT_EQ(expectNoConflict(makeLadder(graph, classes, options)
                                 .solve(SavedValuesLadder::size() - 1))
                .saved,
            (std::vector<NodeId>{cheap, dear}));
}

TEST(SavedValuesLadder, AggressiveRecomputationStartsLow) {
  JointGraph graph = makeLayers(4);
  Classification classes = expectNoConflict(classify(graph));
  SavedValuesOptions options;
  options.cut.banRecomputeMaterializedBackward = true;
  options.aggressiveRecomputation = true;
  // Products stay banned, whatever else is repeated.
  EXPECT_EQ(makeLadder(graph, classes, options).getMostBytes(), 400);
}

TEST(SavedValuesLadder, OnRandomGraphs) {
  int numGraphs = 0, numSmaller = 0, numRepetitions = 0;
  for (uint64_t seed : Seeds(100)) {
    JointGraph graph = makeRandomJointGraph(seed, {});
    PartitionResult<Classification> classified = classify(graph);
    auto *classes = std::get_if<Classification>(&classified);
    if (!classes)
      continue;
    settlePolicies(graph, *classes, static_cast<CollectivePolicy>(seed % 3));
    SavedValuesOptions options;
    options.cut.repeatGathers = seed % 3 == 2;
    PartitionResult<SavedValuesLadder> created =
        SavedValuesLadder::create(graph, *classes, options);
    auto *ladder = std::get_if<SavedValuesLadder>(&created);
    if (!ladder)
      continue;
    ++numGraphs;
    // A rung is the same whenever it is asked for. All of the first are, and
    // some of the others.
    constexpr int32_t firstRungs = 10;
    std::vector<int64_t> bytes;
    Split previous;
    for (int32_t rung = 0; rung < SavedValuesLadder::size();
         rung += rung < firstRungs ? 1 : 40) {
      // Marks that rung 0 keeps may contradict each other with less to save.
      PartitionResult<Split> solved = ladder->solve(rung);
      if (std::holds_alternative<PartitionConflict>(solved))
        break;
      Split split = std::get<Split>(std::move(solved));
      EXPECT_TRUE(std::is_sorted(split.saved.begin(), split.saved.end()));
      EXPECT_EQ(split.saved, expectNoConflict(ladder->solve(rung)).saved);
      bytes.push_back(computeSavedBytes(graph, split.saved));
      if (ladder->isRepetition(rung)) {
        EXPECT_EQ(split.saved, previous.saved) << "rung " << rung;
        ++numRepetitions;
      }
      previous = split;
    }
    EXPECT_EQ(bytes.front(), ladder->getMostBytes());
    numSmaller += bytes.back() < bytes.front();
  }
  EXPECT_GT(numGraphs, 15);
  EXPECT_GT(numSmaller, 5);
  EXPECT_GT(numRepetitions, 30);
}
