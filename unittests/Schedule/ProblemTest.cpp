//===- ProblemTest.cpp - Tests of scheduling problems ---------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Model/Problem.h"

#include "../Seeds.h"
#include "RandomProblem.h"
#include "TestProblems.h"

#include <gtest/gtest.h>

#include <limits>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::schedule::testing;
using mlir::commsched::testing::Seeds;

namespace {

constexpr int64_t maxInt64 = std::numeric_limits<int64_t>::max();

/// Finalizes `problem` and expects exactly this error.
void expectError(Problem &problem, const std::string &text) {
  const Status &status = problem.finalize();
  ASSERT_FALSE(status) << "expected: " << text;
  EXPECT_EQ(status.error(), text);
  EXPECT_EQ(&problem.check(), &status);
}

std::vector<NodeId> nodesOf(ArrayView<DependenceEnd> ends) {
  std::vector<NodeId> nodes;
  for (DependenceEnd end : ends)
    nodes.push_back(end.node);
  return nodes;
}

template <typename T> std::vector<T> toVector(ArrayView<T> view) {
  return {view.begin(), view.end()};
}

TEST(Problem, GivesBackWhatWasAdded) {
  Problem problem;
  NodeId start = addStart(problem, 7, {}, 1);
  NodeId compute = addCompute(problem, 5);
  NodeId wait = problem.addWait(start);
  NodeId barrier = problem.addNode(NodeKind::Blocking, 3, 0);
  problem.addDependence(compute, wait, DependenceKind::Memory);
  problem.addDependence(wait, barrier, DependenceKind::Barrier);
  BufferId argument = problem.addBuffer(10, noNode, true);
  BufferId made = problem.addBuffer(20, compute, false);
  problem.addUse(argument, start);
  problem.addUse(argument, wait);
  problem.addUse(made, wait);
  ASSERT_TRUE(problem.finalize()) << problem.check().error();

  EXPECT_EQ(problem.numNodes(), 4);
  EXPECT_EQ(problem.numStreams(), 2);
  EXPECT_EQ(problem.kind(barrier), NodeKind::Blocking);
  EXPECT_EQ(problem.costNs(start), 7);
  EXPECT_EQ(problem.costNs(wait), 0);
  EXPECT_EQ(problem.stream(start), 1);
  EXPECT_EQ(problem.stream(compute), noStream);
  EXPECT_EQ(problem.waitOf(start), wait);
  EXPECT_EQ(problem.startOf(wait), start);
  EXPECT_EQ(problem.waitOf(compute), noNode);
  EXPECT_EQ(problem.startOf(compute), noNode);
  EXPECT_TRUE(problem.isCollective(start));
  EXPECT_TRUE(problem.isCollective(barrier));
  EXPECT_FALSE(problem.isCollective(wait));

  EXPECT_EQ(problem.numDependences(), 3u);
  EXPECT_EQ(nodesOf(problem.successors(start)), (std::vector<NodeId>{wait}));
  EXPECT_EQ(nodesOf(problem.predecessors(wait)),
            (std::vector<NodeId>{start, compute}));
  EXPECT_EQ(problem.predecessors(wait)[1].kind, DependenceKind::Memory);
  EXPECT_TRUE(problem.successors(barrier).empty());
  EXPECT_TRUE(problem.predecessors(start).empty());

  EXPECT_EQ(toVector(problem.users(argument)),
            (std::vector<NodeId>{start, wait}));
  EXPECT_EQ(toVector(problem.buffersUsedBy(wait)),
            (std::vector<BufferId>{argument, made}));
  EXPECT_EQ(toVector(problem.buffersMadeBy(compute)),
            (std::vector<BufferId>{made}));
  EXPECT_TRUE(problem.buffersMadeBy(start).empty());
  EXPECT_EQ(problem.buffer(made).bytes, 20);
}

TEST(Problem, EmptyIsValid) {
  Problem problem;
  EXPECT_TRUE(problem.finalize());
  EXPECT_EQ(problem.numNodes(), 0);
  EXPECT_EQ(problem.numStreams(), 0);
}

TEST(Problem, IsAnErrorUntilFinalized) {
  Problem problem;
  EXPECT_EQ(problem.check().error(), "the problem is not finalized");
  addCompute(problem, 1);
  problem.finalize();
  EXPECT_TRUE(problem.check());
  addCompute(problem, 1, {0});
  EXPECT_EQ(problem.check().error(),
            "the problem was changed after it was finalized");
  EXPECT_TRUE(problem.finalize());
  EXPECT_EQ(nodesOf(problem.successors(0)), (std::vector<NodeId>{1}));

  // Nothing of an earlier state is left when an error is found.
  addStart(problem, 1);
  expectError(problem, "node 2 (start) has no wait");
  EXPECT_TRUE(problem.successors(0).empty());
  EXPECT_TRUE(problem.topologicalOrder().empty());
}

TEST(Problem, RecoversFromAnErrorByMoreAdditions) {
  Problem problem;
  NodeId start = addStart(problem, 1);
  expectError(problem, "node 0 (start) has no wait");
  problem.addWait(start);
  EXPECT_TRUE(problem.finalize());
}

TEST(Problem, ParallelDependencesAreKept) {
  Problem problem;
  addCompute(problem, 1);
  addCompute(problem, 1, {0, 0});
  problem.addDependence(0, 1, DependenceKind::Order);
  ASSERT_TRUE(problem.finalize());
  EXPECT_EQ(problem.predecessors(1).size(), 3u);
}

TEST(ProblemCheck, NegativeCost) {
  Problem problem;
  addCompute(problem, 4);
  addCompute(problem, -5);
  expectError(problem, "node 1 (compute) has a negative cost of -5 ns");
}

TEST(ProblemCheck, SumOfCostsOverflows) {
  Problem problem;
  addCompute(problem, maxInt64 - 1);
  addCompute(problem, 1);
  EXPECT_TRUE(problem.finalize());
  addCompute(problem, 1);
  expectError(problem, "the sum of the costs up to node 2 (compute), which "
                       "adds 1 ns, does not fit 64 bits");
}

TEST(ProblemCheck, WaitWithCost) {
  Problem problem;
  addStart(problem, 1);
  problem.addNode(NodeKind::Wait, 9);
  expectError(problem, "node 1 (wait) has a cost of 9 ns, but the time of a "
                       "collective belongs to its start");
}

TEST(ProblemCheck, Streams) {
  Problem compute;
  compute.addNode(NodeKind::Compute, 1, 2);
  expectError(compute, "node 0 (compute) is on stream 2, but only a start or a "
                       "blocking collective is on a stream");
  Problem missing;
  missing.addNode(NodeKind::Blocking, 1);
  expectError(missing,
              "node 0 (blocking) is a collective on stream -1, but streams are "
              "numbered from 0 to 1048575");
  Problem last;
  last.addNode(NodeKind::Blocking, 1, maxStreams - 1);
  EXPECT_TRUE(last.finalize());
  EXPECT_EQ(last.numStreams(), maxStreams);
  Problem huge;
  huge.addNode(NodeKind::Blocking, 1, maxStreams);
  expectError(
      huge, "node 0 (blocking) is a collective on stream 1048576, but streams "
            "are numbered from 0 to 1048575");
}

TEST(ProblemCheck, WaitsAndStartsArePairs) {
  Problem twice;
  NodeId start = addStart(twice, 1);
  twice.addWait(start);
  twice.addWait(start);
  expectError(twice,
              "node 0 (start) has two waits, node 1 (wait) and node 2 (wait)");
  Problem noStart;
  noStart.addNode(NodeKind::Wait, 0);
  expectError(noStart, "node 0 (wait) has no start");
  Problem notAStart;
  addCompute(notAStart, 1);
  notAStart.addWait(0);
  expectError(notAStart, "node 1 (wait) waits for node 0 (compute), which is "
                         "not a start");
  Problem outside;
  outside.addWait(5);
  expectError(outside,
              "node 0 (wait) waits for node 5; the problem has 1 nodes");
  Problem later;
  later.addWait(1);
  addStart(later, 1);
  expectError(later,
              "node 0 (wait) waits for node 1 (start), which comes later");
}

TEST(ProblemCheck, DependencesNameNodes) {
  Problem outside;
  addCompute(outside, 1);
  outside.addDependence(7, 0, DependenceKind::Memory);
  expectError(outside,
              "memory dependence of node 0 (compute) on node 7 names a node "
              "that does not exist; the problem has 1 nodes");
  Problem negative;
  addCompute(negative, 1);
  negative.addDependence(0, -3, DependenceKind::Data);
  expectError(negative,
              "data dependence of node -3 on node 0 (compute) names a node "
              "that does not exist; the problem has 1 nodes");
  Problem self;
  addCompute(self, 1);
  self.addDependence(0, 0, DependenceKind::Order);
  expectError(self, "node 0 (compute) depends on itself (order)");
}

TEST(ProblemCheck, CycleIsNamed) {
  Problem problem;
  for (int i = 0; i < 6; ++i)
    addCompute(problem, 1);
  problem.addDependence(0, 4, DependenceKind::Data);
  problem.addDependence(4, 2, DependenceKind::Data);
  problem.addDependence(2, 3, DependenceKind::Order);
  problem.addDependence(3, 4, DependenceKind::Memory);
  // Behind the cycle, but not on it.
  problem.addDependence(3, 1, DependenceKind::Data);
  expectError(problem,
              "dependences form a cycle of 3 nodes: node 2 (compute) -> node 3 "
              "(compute) -> node 4 (compute) -> node 2 (compute)");
}

TEST(ProblemCheck, LongCycleIsCut) {
  Problem problem;
  for (NodeId node = 0; node < 100; ++node) {
    addCompute(problem, 1);
    problem.addDependence(node, (node + 1) % 100, DependenceKind::Data);
  }
  const Status &status = problem.finalize();
  ASSERT_FALSE(status);
  EXPECT_EQ(
      status.error().find("dependences form a cycle of 100 nodes: node 0"), 0u)
      << status.error();
  EXPECT_NE(status.error().find("node 7 (compute) -> ... -> node 0"),
            std::string::npos)
      << status.error();
  EXPECT_TRUE(problem.topologicalOrder().empty());
}

TEST(ProblemCheck, Buffers) {
  Problem negative;
  negative.addBuffer(-1, noNode, true);
  expectError(negative, "buffer 0 has a negative size of -1 bytes");
  Problem overflow;
  overflow.addBuffer(maxInt64, noNode, true);
  overflow.addBuffer(2, noNode, true);
  expectError(overflow, "the sum of the sizes up to buffer 1, which adds 2 "
                        "bytes, does not fit 64 bits");
  Problem producer;
  producer.addBuffer(1, 3, true);
  expectError(producer, "buffer 0 is made by node 3; the problem has 0 nodes");
  Problem buffer;
  addCompute(buffer, 1);
  buffer.addUse(2, 0);
  expectError(buffer,
              "node 0 (compute) uses buffer 2; the problem has 0 buffers");
  Problem user;
  user.addBuffer(1, noNode, true);
  user.addUse(0, -2);
  expectError(user, "buffer 0 is used by node -2; the problem has 0 nodes");
}

TEST(Problem, TopologicalOrderRespectsAllDependences) {
  int backwards = 0;
  for (uint64_t seed : Seeds(500)) {
    RandomProblemOptions options;
    options.shuffleProgram = seed % 2;
    Problem problem = makeRandomProblem(seed, options);
    ASSERT_TRUE(problem.check())
        << "seed " << seed << ": " << problem.check().error();
    const Order &order = problem.topologicalOrder();
    std::vector<bool> seen(problem.numNodes());
    for (NodeId node : order) {
      for (DependenceEnd end : problem.predecessors(node)) {
        EXPECT_TRUE(seen[end.node]) << "seed " << seed << ", node " << node;
        backwards += end.node > node;
      }
      EXPECT_FALSE(seen[node]) << "seed " << seed << ", node " << node;
      seen[node] = true;
    }
    EXPECT_EQ(order.size(), seen.size()) << "seed " << seed;
    if (!options.shuffleProgram) {
      EXPECT_EQ(order, programOrder(problem)) << "seed " << seed;
    }
  }
  EXPECT_GT(backwards, 0);
}

} // namespace
