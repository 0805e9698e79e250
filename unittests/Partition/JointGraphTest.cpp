//===- JointGraphTest.cpp - Joint graphs, their classes and segments ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/JointGraph.h"
#include "CommSched/Partition/Classification.h"
#include "CommSched/Partition/PricedCut.h"
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

static std::string findInputs(const TextGraph &graph, int64_t segmentBytes) {
  Classification classes = expectNoConflict(classify(graph));
  std::vector<char> isInput = findSegmentInputs(graph, classes, segmentBytes);
  std::vector<NodeId> inputs;
  for (NodeId node = 0; node < graph.size(); ++node)
    if (isInput[node])
      inputs.push_back(node);
  return graph.tell(inputs);
}

/// Layers of a wide value of 100 bytes between narrow ones of 10.
static TextGraph makeWideLayers(int32_t count) {
  return "n-1 = input 10; dy = tangent 10;" +
         repeat(count, "w$ = mm 100 n^; n$ = mm 10 w$") +
         "dx = mm 10 w0 dy; return n" + std::to_string(count - 1) + " | dx";
}

TEST(Segments, EndWhereFewBytesCross) {
  TextGraph graph = makeWideLayers(4);
  Classification classes = expectNoConflict(classify(graph));
  EXPECT_EQ(computeForwardBytes(graph, classes), 440);
  // Nothing reads the last one any more.
  EXPECT_EQ(findInputs(graph, 110), "n0 n1 n2");
  // Two layers each.
  EXPECT_EQ(findInputs(graph, 220), "n1");
  EXPECT_EQ(findInputs(graph, 440), "");
}

TEST(Segments, OfSingleOperationsEndBehindEach) {
  EXPECT_EQ(findInputs(makeWideLayers(2), 1), "w0 n0 w1");
}

/// What crosses an end of a segment is an input, by a search from each end.
TEST(Segments, HaveAllThatCrossesAsInputs) {
  for (uint64_t seed : Seeds(2000)) {
    JointGraph graph = makeRandomJointGraph(seed);
    PartitionResult<Classification> classified = classify(graph);
    const auto *classes = std::get_if<Classification>(&classified);
    if (!classes)
      continue;
    int64_t total = computeForwardBytes(graph, *classes);
    std::vector<char> one = findSegmentInputs(graph, *classes, total);
    EXPECT_EQ(std::count(one.begin(), one.end(), 1), 0);
    // Smaller segments only add ends when they divide larger ones; an input is
    // in any case a value of the forward that something reads later.
    std::vector<char> isInput = findSegmentInputs(graph, *classes, total / 4);
    for (NodeId node = 0; node < graph.size(); ++node) {
      if (!isInput[node])
        continue;
      EXPECT_TRUE(classes->requiredForward[node]);
      EXPECT_FALSE(graph.isArgument(node));
      EXPECT_FALSE(classes->isGatheredParameter[node]);
    }
  }
}

namespace {

NodeId addKind(JointGraph &graph, JointNodeKind kind) {
  JointNode node;
  node.kind = kind;
  return graph.addNode(node);
}

std::vector<NodeId> toVector(ArrayView<NodeId> nodes) {
  return {nodes.begin(), nodes.end()};
}

using Nodes = std::vector<NodeId>;

TEST(JointGraphTest, KeepsOperandsInOrderAndUsersAscending) {
  JointGraph graph;
  NodeId primal = addKind(graph, JointNodeKind::Primal);
  NodeId tangent = addKind(graph, JointNodeKind::Tangent);
  NodeId first = addKind(graph, JointNodeKind::Operation);
  NodeId second = addKind(graph, JointNodeKind::Operation);
  graph.addUse(tangent, second);
  graph.addUse(primal, second);
  graph.addUse(primal, first);
  graph.addUse(tangent, second);
  for (int run = 0; run < 2; ++run) {
    ASSERT_TRUE(graph.finalize());
    EXPECT_EQ(toVector(graph.getOperands(second)),
              (Nodes{tangent, primal, tangent}));
    EXPECT_EQ(toVector(graph.getUsers(primal)), (Nodes{first, second}));
    EXPECT_EQ(toVector(graph.getUsers(tangent)), (Nodes{second, second}));
    EXPECT_TRUE(graph.getUsers(second).empty());
  }
}

/// A change of a graph with a primal and an operation, and the error for it.
struct WrongGraph {
  void (*change)(JointGraph &);
  const char *error;
};

void expectErrors(std::initializer_list<WrongGraph> cases) {
  for (const WrongGraph &wrong : cases) {
    JointGraph graph;
    addKind(graph, JointNodeKind::Primal);
    addKind(graph, JointNodeKind::Operation);
    wrong.change(graph);
    EXPECT_EQ(graph.finalize().error(), wrong.error);
  }
}

TEST(JointGraphTest, RefusesWrongEdgesAndResults) {
  expectErrors(
      {{[](JointGraph &graph) { graph.addUse(0, 2); },
        "an edge leads from node 0 to node 2, but the graph has 2 nodes"},
       {[](JointGraph &graph) { graph.addMemoryOrder(-1, 1); },
        "an edge leads from node -1 to node 1, but the graph has 2 nodes"},
       {[](JointGraph &graph) {
          graph.addUse(addKind(graph, JointNodeKind::Operation), 1);
        },
        "an edge leads backwards, from node 2 to node 1"},
       {[](JointGraph &graph) { graph.addMemoryOrder(1, 1); },
        "an edge leads backwards, from node 1 to node 1"},
       {[](JointGraph &graph) { graph.addForwardResult(2); },
        "a forward result is node 2, but the graph has 2 nodes"},
       {[](JointGraph &graph) { graph.addBackwardResult(-1); },
        "a backward result is node -1, but the graph has 2 nodes"}});
}

TEST(JointGraphTest, RefusesArgumentsOutOfPlace) {
  expectErrors(
      {{[](JointGraph &graph) { addKind(graph, JointNodeKind::Tangent); },
        "node 2 is an argument, but node 1, an operation, is before "
        "it"}});
  JointGraph reading;
  addKind(reading, JointNodeKind::Primal);
  addKind(reading, JointNodeKind::Primal);
  reading.addUse(0, 1);
  EXPECT_EQ(reading.finalize().error(),
            "node 1 is an argument, but it reads node 0");
}

TEST(JointGraphTest, RefusesResultsOfOtherOperations) {
  JointGraph first;
  addKind(first, JointNodeKind::Primal);
  addKind(first, JointNodeKind::Result);
  EXPECT_EQ(first.finalize().error(),
            "node 1 is a result, but no operation is before it");
  expectErrors(
      {{[](JointGraph &graph) { addKind(graph, JointNodeKind::Result); },
        "node 2 is a result of node 1, but that is not the one node "
        "that it reads"},
       {[](JointGraph &graph) {
          addKind(graph, JointNodeKind::Operation);
          graph.addUse(1, addKind(graph, JointNodeKind::Result));
        },
        "node 3 is a result of node 2, but that is not the one node "
        "that it reads"},
       {[](JointGraph &graph) {
          addKind(graph, JointNodeKind::Result);
          graph.addUse(1, 2);
          graph.addUse(0, 2);
        },
        "node 2 is a result of node 1, but that is not the one node "
        "that it reads"}});
}

TEST(JointGraphTest, RefusesWrongQuantities) {
  expectErrors(
      {{[](JointGraph &graph) { graph[1].bytes = -1; },
        "node 1 has negative bytes: -1"},
       {[](JointGraph &graph) { graph[0].cost = -7; },
        "node 0 has negative costs: -7"},
       {[](JointGraph &graph) {
          graph[0].bytes = std::numeric_limits<int64_t>::max();
          EXPECT_TRUE(graph.finalize());
          graph[1].bytes = 1;
        },
        "the sum of the bytes up to node 1, which adds 1, does not fit 64 "
        "bits"}});
}

} // namespace
