//===- JointGraphTest.cpp - Tests of joint graphs -------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/JointGraph.h"
#include "TestGraphs.h"

using namespace mlir::commsched::partition::testing;

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

/// Property tests assume that random graphs have every kind of node.
TEST(JointGraphTest, DrawsRandomGraphsWithEverythingInThem) {
  std::vector<int32_t> byClass(int(OperatorClass::Other) + 1, 0);
  std::vector<int32_t> byPolicy(int(RecomputePolicy::MustRecompute) + 1, 0);
  std::vector<int32_t> byTag(int(PartitionTag::MustBeBackward) + 1, 0);
  int32_t numResults = 0;
  int32_t numPinned = 0;
  size_t numMemoryOrders = 0;
  for (uint64_t seed : Seeds(500)) {
    JointGraph graph = makeRandomJointGraph(seed);
    for (NodeId node = 0; node < graph.size(); ++node) {
      ++byClass[int(graph[node].operatorClass)];
      ++byPolicy[int(graph[node].policy)];
      ++byTag[int(graph[node].tag)];
      numResults += graph[node].kind == JointNodeKind::Result;
      numPinned += graph[node].isPinned;
    }
    numMemoryOrders += graph.getMemoryOrder().size();
  }
  for (const std::vector<int32_t> &counts : {byClass, byPolicy, byTag})
    for (int32_t count : counts)
      EXPECT_GT(count, 5);
  EXPECT_GT(numResults, 30);
  EXPECT_GT(numPinned, 30);
  EXPECT_GT(numMemoryOrders, 15u);
}

} // namespace
