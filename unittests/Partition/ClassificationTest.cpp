//===- ClassificationTest.cpp - Tests of node classification --------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/Classification.h"
#include "TestGraphs.h"

using namespace mlir::commsched::partition::testing;

static Classification classifyOrFail(const JointGraph &graph) {
  return expectNoConflict(classify(graph));
}

using Flags = std::vector<char>;

TEST(Classification, TellsForwardFromBackward) {
  // Only the backward uses the helper.
  TextGraph graph(R"(
    x = input 8; dy = tangent 8; a = pointwise 8 x; y = pointwise 8 a
    helper = pointwise 8 a; dx = pointwise 8 dy helper; return y | dx)");
  Classification classes = classifyOrFail(graph);
  EXPECT_EQ(classes.requiredForward, (Flags{1, 0, 1, 1, 0, 0}));
  EXPECT_EQ(classes.needsTangent, (Flags{0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(classes.requiredBackward, (Flags{0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(classes.forwardOrder, (std::vector<int32_t>{0, -1, 1, 2, -1, -1}));
  EXPECT_EQ(classes.distanceToBackward[graph.id("x")], 2);
  EXPECT_EQ(classes.distanceToBackward[graph.id("a")], 1);
  EXPECT_EQ(classes.distanceToBackward[graph.id("y")], Classification::far);
  EXPECT_EQ(classes.distanceToBackward[graph.id("helper")], 0);
}

TEST(Classification, ABackwardResultIsRequiredThere) {
  Classification classes =
      classifyOrFail(TextGraph("x = input 8; y = pointwise 8 x; return y | y"));
  EXPECT_TRUE(classes.requiredBackward[1]);
  EXPECT_FALSE(classes.needsTangent[1]);
}

TEST(Classification, WhatReadsASeedOfTheBackwardIsInTheBackward) {
  Classification classes = classifyOrFail(TextGraph(R"(
    x = input 8; s = seed 8; dy = tangent 8; y = pointwise 8 x
    noise = pointwise 8 x s; dx = pointwise 8 dy noise; return y | dx)"));
  EXPECT_EQ(classes.needsTangent, (Flags{0, 1, 1, 0, 1, 1}));
  EXPECT_FALSE(classes.requiredForward[1]);
  EXPECT_EQ(classes.distanceToBackward[0], 1);
}

TEST(Classification, RefusesAForwardThatNeedsTheBackward) {
  TextGraph seeded(R"(
    x = input 8; s = seed 8; reader = pointwise 8 x s
    middle = pointwise 8 x reader; y = pointwise 8 x middle; return y)");
  PartitionConflict conflict = expectConflict(classify(seeded));
  EXPECT_EQ(conflict.otherReason,
            "is a random state that only the backward has");
  EXPECT_EQ(seeded.tell({conflict.node, conflict.other, conflict.reader}),
            "y s reader");
  // A tangent; what is kept in the backward; and what must be in the forward,
  // though it is no result.
  for (const char *text :
       {"x = input 8; other = tangent 8; node = pointwise 8 x other; "
        "return node",
        "x = input 8; other = pointwise 8 x : must-be-backward; "
        "node = pointwise 8 other; return node",
        "other = tangent 8; node = pointwise 8 other : must-be-forward; "
        "return | node"}) {
    TextGraph graph(text);
    conflict = expectConflict(classify(graph));
    EXPECT_EQ(graph.tell({conflict.node, conflict.other}), "node other");
  }
}

TEST(Classification, EffectsStayWhereTheirOperandsAre) {
  Classification classes = classifyOrFail(TextGraph(R"(
    x = input 8; dy = tangent 8; a = pointwise 8 x : pinned
    b = pointwise 8 dy : pinned; tagged = pointwise 8 x : pinned backward)"));
  EXPECT_EQ(classes.requiredForward, (Flags{1, 0, 1, 0, 0}));
  EXPECT_EQ(classes.needsTangent, (Flags{0, 1, 0, 1, 1}));
}

TEST(Classification, FindsGatheredParameters) {
  TextGraph graph(R"(
    p = parameter 2; q = parameter 2; x = input 8; cast = pointwise 1 p
    gather = start cast; gathered = wait 8 gather; shown = view gathered
    product = mm 8 shown q; mixed = pointwise 8 shown x; s = start x
    activation = wait 8 s; return product mixed activation)");
  Classification classes = classifyOrFail(graph);
  std::vector<NodeId> found;
  for (NodeId node = 0; node < graph.size(); ++node)
    if (classes.isGatheredParameter[node])
      found.push_back(node);
  EXPECT_EQ(graph.tell(found), "gather gathered shown");
}
