//===- ProblemTest.cpp - Tests of problems and their orders ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Model/Problem.h"
#include "CommSched/Schedule/Model/ProblemTransforms.h"
#include "CommSched/Schedule/Model/Verify.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

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
  TextProblem problem(R"(
    argument = arg 10; s = start 7@1 argument; c = 5 -> 20!
    wait s memory:c use:c; barrier = blocking 3 barrier:s')");
  NodeId start = problem["s"], compute = problem["c"], wait = problem["s'"],
         barrier = problem["barrier"];
  BufferId argument = problem.bufferOf("argument"),
           made = problem.bufferOf("c");
  ASSERT_TRUE(problem.check()) << problem.check().error();

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

TEST(Problem, ParallelDependencesAreKept) {
  TextProblem problem("a = 1; b = 1 a a order:a");
  ASSERT_TRUE(problem.check());
  EXPECT_EQ(problem.predecessors(problem["b"]).size(), 3u);
}

TEST(ProblemCheck, LargestSumsAndStreamsFit) {
  TextProblem problem("a = 9223372036854775806; b = 1");
  EXPECT_TRUE(problem.check());
  TextProblem last("a = blocking 1@1048575");
  EXPECT_TRUE(last.check());
  EXPECT_EQ(last.numStreams(), maxStreams);
}

struct ErrorCase {
  const char *text;
  const char *error;
};

TEST(ProblemCheck, NamesWhatIsWrong) {
  const ErrorCase cases[] = {
      {"a = 4; b = -5", "node 1 (compute) has a negative cost of -5 ns"},
      {"a = 9223372036854775806; b = 1; c = 1",
       "the sum of the costs up to node 2 (compute), which adds 1 ns, does not "
       "fit 64 bits"},
      // Streams.
      {"a = 1@2", "node 0 (compute) is on stream 2, but only a start or a "
                  "blocking collective is on a stream"},
      {"a = blocking 1@-1",
       "node 0 (blocking) is a collective on stream -1, but streams are "
       "numbered from 0 to 1048575"},
      {"a = blocking 1@1048576",
       "node 0 (blocking) is a collective on stream 1048576, but streams are "
       "numbered from 0 to 1048575"},
      // Pairs of starts and waits.
      {"s = start 1; wait s; wait #0",
       "node 0 (start) has two waits, node 1 (wait) and node 2 (wait)"},
      {"wait #-1", "node 0 (wait) has no start"},
      {"a = 1; wait a", "node 1 (wait) waits for node 0 (compute), which is "
                        "not a start"},
      {"wait #5", "node 0 (wait) waits for node 5; the problem has 1 nodes"},
      {"wait s; s = start 1",
       "node 0 (wait) waits for node 1 (start), which comes later"},
      // Dependences.
      {"a = 1 memory:#7",
       "memory dependence of node 0 (compute) on node 7 names a node that does "
       "not exist; the problem has 1 nodes"},
      {"a = 1 order:a", "node 0 (compute) depends on itself (order)"},
      // One operation is behind the cycle, but not on it.
      {"a = 1; b = 1 d; c = 1 e; d = 1 order:c; e = 1 a memory:d; f = 1",
       "dependences form a cycle of 3 nodes: node 2 (compute) -> node 3 "
       "(compute) -> node 4 (compute) -> node 2 (compute)"},
      // Buffers.
      {"a = arg -1", "buffer 0 has a negative size of -1 bytes"},
      {"a = arg 9223372036854775807; b = arg 2",
       "the sum of the sizes up to buffer 1, which adds 2 bytes, does not fit "
       "64 bits"}};
  for (const ErrorCase &wrong : cases) {
    TextProblem problem(wrong.text);
    EXPECT_EQ(problem.check().error(), wrong.error) << wrong.text;
  }
}

TEST(ProblemCheck, WhatNoTextSays) {
  Problem costly;
  addStart(costly, 1);
  costly.addNode(NodeKind::Wait, 9);
  expectError(costly, "node 1 (wait) has a cost of 9 ns, but the time of a "
                      "collective belongs to its start");
  Problem negative;
  addCompute(negative, 1);
  negative.addDependence(0, -3, DependenceKind::Data);
  expectError(negative,
              "data dependence of node -3 on node 0 (compute) names a node "
              "that does not exist; the problem has 1 nodes");
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

TEST(ProblemCheck, LongCycleIsCut) {
  TextProblem problem(repeat(99, "n$ = 1 n^;") + "n-1 = 1 n98");
  const Status &status = problem.check();
  ASSERT_FALSE(status);
  EXPECT_EQ(
      status.error().find("dependences form a cycle of 100 nodes: node 0"), 0u)
      << status.error();
  EXPECT_NE(status.error().find("node 7 (compute) -> ... -> node 0"),
            std::string::npos)
      << status.error();
  EXPECT_TRUE(problem.topologicalOrder().empty());
}

TEST(Problem, TopologicalOrderRespectsAllDependences) {
  int backwards = 0;
  for (uint64_t seed : Seeds(500)) {
    RandomProblemOptions options;
    options.shuffleProgram = seed % 2;
    Problem problem = makeRandomProblem(seed, options);
    ASSERT_TRUE(problem.check()) << problem.check().error();
    const Order &order = problem.topologicalOrder();
    std::vector<bool> seen(problem.numNodes());
    for (NodeId node : order) {
      for (DependenceEnd end : problem.predecessors(node)) {
        EXPECT_TRUE(seen[end.node]) << "node " << node;
        backwards += end.node > node;
      }
      EXPECT_FALSE(seen[node]) << "node " << node;
      seen[node] = true;
    }
    EXPECT_EQ(order.size(), seen.size());
    if (!options.shuffleProgram) {
      EXPECT_EQ(order, programOrder(problem));
    }
  }
  EXPECT_GT(backwards, 0);
}

TEST(Verify, RejectsWhatIsNoPermutation) {
  TimelineExample example;
  EXPECT_EQ(verify(example.problem, {0, 1}).error(),
            "the order has 2 entries for a problem of 7 nodes");
  EXPECT_EQ(verify(example.problem, {0, 1, 2, 3, 4, 5, 7}).error(),
            "the order has node 7 at position 6; the problem has 7 nodes");
  EXPECT_EQ(verify(example.problem, {0, 1, 2, -1, 4, 5, 6}).error(),
            "the order has node -1 at position 3; the problem has 7 nodes");
  EXPECT_EQ(verify(example.problem, {0, 1, 2, 3, 0, 5, 6}).error(),
            "the order has node 0 (start) at position 0 and again at position "
            "4");
}

TEST(Verify, RejectsBrokenDependences) {
  TimelineExample example;
  EXPECT_EQ(verify(example.problem, {0, 2, 3, 4, 1, 5, 6}).error(),
            "node 4 (compute) at position 3 comes before node 1 (compute) at "
            "position 4, on which it depends (data)");
  EXPECT_EQ(verify(example.problem, {0, 1, 3, 4, 5, 2, 6}).error(),
            "node 5 (wait) at position 4 comes before node 2 (start) at "
            "position 5, on which it depends (data)");
}

TEST(Verify, RejectsUseBeforeTheBufferIsMade) {
  TextProblem problem("a = 1 -> 8; b = 1 use:a");
  EXPECT_TRUE(verify(problem, {0, 1}));
  EXPECT_EQ(verify(problem, {1, 0}).error(),
            "node 1 (compute) at position 0 uses buffer 0 before node 0 "
            "(compute) at position 1 makes it");
}

TEST(Verify, ReportsTheProblemsOwnError) {
  Problem problem;
  EXPECT_EQ(verify(problem, {}).error(), "the problem is not finalized");
}

/// Swapping two neighbours is legal exactly if no dependence joins them.
TEST(Verify, AgreesWithDependencesOnEverySwapOfNeighbours) {
  int legal = 0, illegal = 0;
  for (uint64_t seed : Seeds(300)) {
    Problem problem = makeEitherProblem(seed);
    Order order = makeRandomOrder(seed, problem);
    ASSERT_TRUE(verify(problem, order));
    for (size_t i = 1; i < order.size(); ++i) {
      bool joined = false;
      for (DependenceEnd end : problem.successors(order[i - 1]))
        joined |= end.node == order[i];
      std::swap(order[i - 1], order[i]);
      EXPECT_EQ(!verify(problem, order), joined) << "position " << i;
      std::swap(order[i - 1], order[i]);
      ++(joined ? illegal : legal);
    }
  }
  EXPECT_GT(legal, 30);
  EXPECT_GT(illegal, 30);
}

/// Starts on streams 0, 1, 0, a barrier on stream 1, a start on it, the waits.
Problem makeFiveCollectives() {
  return TextProblem(R"(
    a = start 1; b = start 1@1; c = start 1; d = blocking 1@1; e = start 1@1
    wait a; wait b; wait c; wait e)");
}

using Edges = std::vector<std::pair<NodeId, NodeId>>;

Edges orderEdges(const Problem &problem) {
  Edges edges;
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    for (DependenceEnd end : problem.successors(node))
      if (end.kind == DependenceKind::Order)
        edges.push_back({node, end.node});
  return edges;
}

TEST(CollectiveOrder, IsWithinStreamsOrOverAll) {
  Problem problem = makeFiveCollectives(), global = problem;
  EXPECT_EQ(collectivesInProgramOrder(problem),
            (std::vector<NodeId>{0, 1, 2, 3, 4}));
  addCollectiveOrder(global, CollectiveOrderScope::Global);
  ASSERT_TRUE(global.finalize());
  EXPECT_EQ(orderEdges(global), (Edges{{0, 1}, {1, 2}, {2, 3}, {3, 4}}));
  addCollectiveOrder(problem, CollectiveOrderScope::Stream);
  ASSERT_TRUE(problem.finalize());
  EXPECT_EQ(orderEdges(problem), (Edges{{0, 2}, {1, 3}, {3, 4}}));
  EXPECT_TRUE(verify(problem, {1, 0, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_FALSE(verify(problem, {2, 1, 0, 3, 4, 5, 6, 7, 8}));
}

TEST(CollectiveOrder, LeavesBadStreamsToTheCheck) {
  TextProblem problem("a = blocking 1@-5; b = blocking 1@1048576");
  addCollectiveOrder(problem, CollectiveOrderScope::Stream);
  EXPECT_FALSE(problem.finalize());
  EXPECT_EQ(problem.numDependences(), 0u);
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

TEST(Renumbering, LeavesOutWhatMakesNoDifference) {
  size_t numLeftOut = 0;
  for (uint64_t seed : Seeds(300)) {
    RandomProblemOptions shape;
    shape.maxCostNs = 1;
    Problem problem =
        seed % 2 ? makeRandomStep(seed, 4) : makeRandomProblem(seed, shape);
    Order kept =
        leaveOutFree(problem, problem.topologicalOrder(), /*leastNodes=*/0);
    numLeftOut += problem.numNodes() - kept.size();
    Problem program = renumber(problem, kept);
    ASSERT_TRUE(program.check()) << program.check().error();
    Order order = makeRandomOrder(seed, program), wanted;
    for (NodeId node : order)
      wanted.push_back(kept[node]);
    Order whole = completeOrder(problem, wanted);
    ASSERT_TRUE(verify(problem, whole));
    EXPECT_EQ(simulate(problem, whole)->stepNs,
              simulate(program, order)->stepNs);
    EXPECT_EQ(simulateMemory(problem, whole)->peakBytes,
              simulateMemory(program, order)->peakBytes);
    // The order of what is kept is the one that was wanted.
    EXPECT_TRUE(std::is_sorted(
        wanted.begin(), wanted.end(),
        [&, places = *invert(problem, whole)](NodeId a, NodeId b) {
          return places[a] < places[b];
        }));
  }
  EXPECT_GT(numLeftOut, 100u);
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
