//===- ClassificationTest.cpp - Tests of node classification --------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/Classification.h"
#include "TestGraphs.h"

using namespace mlir::commsched;
using namespace mlir::commsched::partition;
using namespace mlir::commsched::partition::testing;

static Classification classifyOrFail(const JointGraph &graph) {
  return expectNoConflict(classify(graph));
}

TEST(Classification, TellsForwardFromBackward) {
  GraphBuilder b;
  NodeId x = b.input(8), dy = b.tangent(8);
  NodeId a = b.pointwise(8, {x});
  NodeId y = b.pointwise(8, {a});
  NodeId helper = b.pointwise(8, {a}); // Only the backward uses it.
  NodeId dx = b.pointwise(8, {dy, helper});
  JointGraph graph = b.finish({y}, {dx});
  Classification classes = classifyOrFail(graph);
  EXPECT_EQ(classes.requiredForward, (std::vector<char>{1, 0, 1, 1, 0, 0}));
  EXPECT_EQ(classes.needsTangent, (std::vector<char>{0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(classes.requiredBackward, (std::vector<char>{0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(classes.forwardOrder, (std::vector<int32_t>{0, -1, 1, 2, -1, -1}));
  EXPECT_EQ(classes.distanceToBackward[x], 2);
  EXPECT_EQ(classes.distanceToBackward[a], 1);
  EXPECT_EQ(classes.distanceToBackward[y], Classification::far);
  EXPECT_EQ(classes.distanceToBackward[helper], 0);
}

TEST(Classification, ABackwardResultIsRequiredThere) {
  GraphBuilder b;
  NodeId x = b.input(8);
  NodeId y = b.pointwise(8, {x});
  JointGraph graph = b.finish({y}, {y});
  Classification classes = classifyOrFail(graph);
  EXPECT_TRUE(classes.requiredBackward[y]);
  EXPECT_FALSE(classes.needsTangent[y]);
}

TEST(Classification, WhatReadsASeedOfTheBackwardIsInTheBackward) {
  GraphBuilder b;
  NodeId x = b.input(8), seed = b.backwardSeed(8), dy = b.tangent(8);
  NodeId y = b.pointwise(8, {x});
  NodeId noise = b.pointwise(8, {x, seed});
  NodeId dx = b.pointwise(8, {dy, noise});
  Classification classes = classifyOrFail(b.finish({y}, {dx}));
  EXPECT_EQ(classes.needsTangent, (std::vector<char>{0, 1, 1, 0, 1, 1}));
  EXPECT_FALSE(classes.requiredForward[seed]);
  EXPECT_EQ(classes.distanceToBackward[x], 1);
}

TEST(Classification, RefusesAForwardResultThatNeedsASeedOfTheBackward) {
  GraphBuilder b;
  NodeId x = b.input(8), seed = b.backwardSeed(8);
  NodeId reader = b.pointwise(8, {x, seed});
  NodeId middle = b.pointwise(8, {x, reader});
  NodeId y = b.pointwise(8, {x, middle});
  PartitionConflict conflict = expectConflict(classify(b.finish({y}, {})));
  EXPECT_EQ(conflict.node, y);
  EXPECT_EQ(conflict.other, seed);
  EXPECT_EQ(conflict.otherReason,
            "is a random state that only the backward has");
  EXPECT_EQ(conflict.reader, reader);
}

TEST(Classification, RefusesAForwardResultThatNeedsATangent) {
  GraphBuilder b;
  NodeId x = b.input(8), dy = b.tangent(8);
  NodeId y = b.pointwise(8, {x, dy});
  JointGraph graph = b.finish({y}, {});
  PartitionConflict conflict = expectConflict(classify(graph));
  EXPECT_EQ(conflict.node, y);
  EXPECT_EQ(conflict.other, dy);
}

TEST(Classification, RefusesAForwardResultThatIsKeptInTheBackward) {
  GraphBuilder b;
  NodeId x = b.input(8);
  NodeId kept = b.pointwise(8, {x});
  NodeId y = b.pointwise(8, {kept});
  b[kept].tag = PartitionTag::MustBeBackward;
  JointGraph graph = b.finish({y}, {});
  PartitionConflict conflict = expectConflict(classify(graph));
  EXPECT_EQ(conflict.node, y);
  EXPECT_EQ(conflict.other, kept);
}

TEST(Classification, RefusesWhatMustBeForwardButNeedsATangent) {
  GraphBuilder b;
  NodeId dy = b.tangent(8);
  NodeId a = b.pointwise(8, {dy});
  b[a].tag = PartitionTag::MustBeForward;
  JointGraph graph = b.finish({}, {a});
  PartitionConflict conflict = expectConflict(classify(graph));
  EXPECT_EQ(conflict.node, a);
  EXPECT_EQ(conflict.other, dy);
}

TEST(Classification, EffectsStayWhereTheirOperandsAre) {
  GraphBuilder b;
  NodeId x = b.input(8), dy = b.tangent(8);
  NodeId forward = b.pointwise(8, {x});
  NodeId backward = b.pointwise(8, {dy});
  NodeId tagged = b.pointwise(8, {x});
  for (NodeId node : {forward, backward, tagged})
    b[node].isPinned = true;
  b[tagged].tag = PartitionTag::Backward;
  JointGraph graph = b.finish({}, {});
  Classification classes = classifyOrFail(graph);
  EXPECT_TRUE(classes.requiredForward[forward]);
  EXPECT_FALSE(classes.requiredForward[backward]);
  EXPECT_FALSE(classes.requiredForward[tagged]);
  EXPECT_FALSE(classes.needsTangent[forward]);
  EXPECT_TRUE(classes.needsTangent[backward]);
  EXPECT_TRUE(classes.needsTangent[tagged]);
}

TEST(Classification, FindsGatheredParameters) {
  GraphBuilder b;
  NodeId p = b.parameter(2), q = b.parameter(2), x = b.input(8);
  NodeId cast = b.pointwise(1, {p});
  NodeId start = b.start({cast});
  NodeId wait = b.wait(start, 8);
  NodeId view = b.view(wait);
  NodeId product = b.matmul(8, {view, q});
  NodeId mixed = b.pointwise(8, {view, x});
  NodeId activation = b.wait(b.start({x}), 8);
  JointGraph graph = b.finish({product, mixed, activation}, {});
  Classification classes = classifyOrFail(graph);
  for (NodeId node : {start, wait, view})
    EXPECT_TRUE(classes.isGatheredParameter[node]) << node;
  for (NodeId node : {p, q, x, cast, product, mixed, activation})
    EXPECT_FALSE(classes.isGatheredParameter[node]) << node;
}
