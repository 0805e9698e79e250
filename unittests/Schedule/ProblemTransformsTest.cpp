//===- ProblemTransformsTest.cpp - Tests of changes of problems -----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Model/ProblemTransforms.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

/// Starts on streams 0, 1, 0, a barrier on stream 1, a start on it, the waits.
Problem makeFiveCollectives() {
  return TextProblem(R"(
    a = start 1; b = start 1@1; c = start 1; d = blocking 1@1; e = start 1@1
    wait a; wait b; wait c; wait e)");
}

std::vector<std::pair<NodeId, NodeId>> orderEdges(const Problem &problem) {
  std::vector<std::pair<NodeId, NodeId>> edges;
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    for (DependenceEnd end : problem.successors(node))
      if (end.kind == DependenceKind::Order)
        edges.push_back({node, end.node});
  return edges;
}

using Edges = std::vector<std::pair<NodeId, NodeId>>;

TEST(CollectiveOrder, ListsCollectivesInProgramOrder) {
  EXPECT_EQ(collectivesInProgramOrder(makeFiveCollectives()),
            (std::vector<NodeId>{0, 1, 2, 3, 4}));
}

TEST(CollectiveOrder, WithinEachStream) {
  Problem problem = makeFiveCollectives();
  addCollectiveOrder(problem, CollectiveOrderScope::Stream);
  ASSERT_TRUE(problem.finalize());
  EXPECT_EQ(orderEdges(problem), (Edges{{0, 2}, {1, 3}, {3, 4}}));
  EXPECT_TRUE(verify(problem, {1, 0, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_FALSE(verify(problem, {2, 1, 0, 3, 4, 5, 6, 7, 8}));
}

TEST(CollectiveOrder, OverAllStreams) {
  Problem problem = makeFiveCollectives();
  addCollectiveOrder(problem, CollectiveOrderScope::Global);
  ASSERT_TRUE(problem.finalize());
  EXPECT_EQ(orderEdges(problem), (Edges{{0, 1}, {1, 2}, {2, 3}, {3, 4}}));
}

TEST(CollectiveOrder, LeavesBadStreamsToTheCheck) {
  TextProblem problem("a = blocking 1@-5; b = blocking 1@1048576");
  addCollectiveOrder(problem, CollectiveOrderScope::Stream);
  EXPECT_FALSE(problem.finalize());
  EXPECT_EQ(problem.numDependences(), 0u);
}

TEST(Renumbering, NumbersAsInTheOrder) {
  TextProblem problem(R"(
    product = mm 60 -> 8; g = start 100@2; wait g
    sum = 30 product g' memory:product)");
  BufferId result = problem.bufferOf("product");

  Problem program = renumber(problem, problem.list("g product g' sum"));
  ASSERT_TRUE(program.check()) << program.check().error();
  EXPECT_EQ(program.kind(0), NodeKind::Start);
  EXPECT_EQ(program.stream(0), 2);
  EXPECT_EQ(program.costNs(0), 100);
  EXPECT_EQ(program.waitOf(0), 2);
  EXPECT_TRUE(program.isExpensive(1));
  EXPECT_FALSE(program.isExpensive(3));
  EXPECT_EQ(program.numDependences(), problem.numDependences());
  EXPECT_EQ(program.buffer(result).producer, 1);
  EXPECT_EQ(program.users(result)[0], 3);
}

using DependenceSet = std::set<std::tuple<NodeId, NodeId, DependenceKind>>;

/// The dependences, with the ends that `numbers` gives them.
DependenceSet listDependences(const Problem &problem,
                              const Positions &numbers) {
  DependenceSet dependences;
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    for (DependenceEnd end : problem.successors(node))
      dependences.insert({numbers[node], numbers[end.node], end.kind});
  return dependences;
}

TEST(Renumbering, KeepsTheProblem) {
  for (uint64_t seed : Seeds(300)) {
    RandomProblemOptions shape;
    shape.shuffleProgram = seed % 2;
    shape.expensivePercent = 30;
    Problem problem = makeRandomProblem(seed, shape);
    Order order = makeRandomOrder(seed, problem);
    Positions numbers = *invert(problem, order);
    Problem program = renumber(problem, order);
    ASSERT_TRUE(program.check()) << program.check().error();
    Order same = programOrder(program);
    ASSERT_TRUE(verify(program, same));
    EXPECT_EQ(listDependences(program, same),
              listDependences(problem, numbers));
    Timeline before = *simulate(problem, order),
             after = *simulate(program, same);
    for (size_t place = 0; place < order.size(); ++place) {
      NodeId old = order[place], node = static_cast<NodeId>(place);
      ASSERT_EQ(program.kind(node), problem.kind(old));
      ASSERT_EQ(program.costNs(node), problem.costNs(old));
      ASSERT_EQ(program.stream(node), problem.stream(old));
      ASSERT_EQ(program.isExpensive(node), problem.isExpensive(old));
      ASSERT_EQ(after.endNs[node], before.endNs[old]);
    }
    MemoryTimeline memory = *simulateMemory(program, same);
    EXPECT_EQ(memory.remainingBytes,
              simulateMemory(problem, order)->remainingBytes);
    EXPECT_EQ(memory.allocatedBytes,
              simulateMemory(problem, order)->allocatedBytes);
    ASSERT_EQ(program.numBuffers(), problem.numBuffers());
    for (BufferId id = 0; id < program.numBuffers(); ++id)
      ASSERT_EQ(program.buffer(id).freed, problem.buffer(id).freed);
  }
}

TEST(CompleteOrder, PutsWhatIsNeededDirectlyBefore) {
  TextProblem problem(R"(
    a = 1; g = start 1 a; wait g; b = 1; h = start 1 b; wait h
    x = 1 h'; y = 1 g'; rest = 1)");
  EXPECT_EQ(problem.tell(completeOrder(problem, {problem["y"], problem["x"]})),
            "a g g' y b h h' x rest");
  EXPECT_EQ(problem.tell(completeOrder(problem, {})),
            problem.tell(programOrder(problem)));
}

TEST(CompleteOrder, IsLegalAndKeepsWhatIsLegal) {
  for (uint64_t seed : Seeds(100)) {
    std::mt19937_64 random(seed);
    Problem problem = makeRandomProblem(seed, {});
    Order legal = makeRandomOrder(random(), problem);
    EXPECT_EQ(completeOrder(problem, legal), legal);
    Order wanted = programOrder(problem);
    std::shuffle(wanted.begin(), wanted.end(), random);
    wanted.resize(wanted.size() / 2);
    EXPECT_TRUE(verify(problem, completeOrder(problem, wanted)));
  }
}

} // namespace
