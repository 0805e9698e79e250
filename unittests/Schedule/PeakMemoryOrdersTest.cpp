//===- PeakMemoryOrdersTest.cpp - Tests of orders for peak memory ---------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Inductor/PeakMemoryOrders.h"
#include "CommSched/Schedule/Step/SmallerOrders.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

/// The sorts for peak memory literally by their descriptions: live, read and
/// ready values are recomputed from the order so far by linear searches.
class ReferencePeakMemoryOrders {
public:
  explicit ReferencePeakMemoryOrders(const Problem &problem)
      : problem(problem) {}

  Order leastPeakMemoryFirst() {
    order.clear();
    while (true) {
      int64_t gap = peakSoFar() - live(order.size());
      NodeId next = firstReady([&](NodeId node) {
        int64_t made = madeBytes(node);
        return std::tuple(made > gap ? made : 0, made - freedBytes(node), node);
      });
      if (next == noNode)
        return order;
      order.push_back(next);
    }
  }

  Order breadthFirst() {
    order.clear();
    while (true) {
      NodeId next = firstReady([&](NodeId node) {
        std::set<size_t> positions;
        for (NodeId predecessor : predecessors(node))
          positions.insert(position(predecessor));
        return std::pair(
            std::vector<size_t>(positions.begin(), positions.end()), node);
      });
      if (next == noNode)
        return order;
      order.push_back(next);
    }
  }

  Order depthFirst() {
    order.clear();
    std::set<NodeId> all;
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      all.insert(node);
    visitSmallestFirst(all);
    return order;
  }

private:
  void visitSmallestFirst(const std::set<NodeId> &nodes) {
    std::set<std::pair<int64_t, NodeId>> sorted;
    for (NodeId node : nodes)
      sorted.insert({madeBytes(node) + readBytes(node), node});
    for (auto [bytes, node] : sorted) {
      if (hasRun(node, order.size()))
        continue;
      visitSmallestFirst(predecessors(node));
      order.push_back(node);
    }
  }

  template <typename KeyFn> NodeId firstReady(KeyFn keyOf) const {
    NodeId best = noNode;
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      if (isReady(node) && (best == noNode || keyOf(node) < keyOf(best)))
        best = node;
    return best;
  }

  size_t position(NodeId node) const {
    return std::find(order.begin(), order.end(), node) - order.begin();
  }
  bool hasRun(NodeId node, size_t end) const { return position(node) < end; }

  std::set<NodeId> predecessors(NodeId node) const {
    std::set<NodeId> nodes;
    for (DependenceEnd end : problem.predecessors(node))
      nodes.insert(end.node);
    return nodes;
  }
  bool isReady(NodeId node) const {
    for (NodeId predecessor : predecessors(node))
      if (!hasRun(predecessor, order.size()))
        return false;
    return !hasRun(node, order.size());
  }

  std::set<NodeId> readers(BufferId id) const {
    ArrayView<NodeId> users = problem.users(id);
    std::set<NodeId> nodes(users.begin(), users.end());
    nodes.erase(problem.buffer(id).producer);
    return nodes;
  }
  /// Whether the buffer is gone when the first `end` operations have run.
  bool isFreed(BufferId id, size_t end) const {
    const Buffer &buffer = problem.buffer(id);
    if (!buffer.freed || (buffer.producer == noNode && readers(id).empty()))
      return false;
    if (buffer.producer != noNode && !hasRun(buffer.producer, end))
      return false;
    for (NodeId reader : readers(id))
      if (!hasRun(reader, end))
        return false;
    return true;
  }

  /// Live bytes when the first `end` operations have run.
  int64_t live(size_t end) const {
    int64_t bytes = 0;
    for (BufferId id = 0; id < problem.numBuffers(); ++id) {
      const Buffer &buffer = problem.buffer(id);
      bool isMade = buffer.producer == noNode || hasRun(buffer.producer, end);
      bytes += isMade && !isFreed(id, end) ? buffer.bytes : 0;
    }
    return bytes;
  }
  int64_t peakSoFar() const {
    // What stays to the end will be live together at some time.
    int64_t peak = 0;
    for (BufferId id = 0; id < problem.numBuffers(); ++id)
      if (!problem.buffer(id).freed ||
          (problem.buffer(id).producer == noNode && problem.users(id).empty()))
        peak += problem.buffer(id).bytes;
    peak = std::max(peak, live(0));
    for (size_t end = 0; end < order.size(); ++end)
      peak = std::max(peak, live(end) + madeBytes(order[end]));
    return peak;
  }

  int64_t madeBytes(NodeId node) const {
    int64_t bytes = 0;
    for (BufferId id : problem.buffersMadeBy(node))
      bytes += problem.buffer(id).bytes;
    return bytes;
  }
  int64_t readBytes(NodeId node) const {
    int64_t bytes = 0;
    for (BufferId id = 0; id < problem.numBuffers(); ++id) {
      bool isKeptArgument =
          problem.buffer(id).producer == noNode && !problem.buffer(id).freed;
      if (!isKeptArgument && readers(id).count(node))
        bytes += problem.buffer(id).bytes;
    }
    return bytes;
  }
  /// What would go if `node` ran now.
  int64_t freedBytes(NodeId node) const {
    int64_t bytes = 0;
    for (BufferId id = 0; id < problem.numBuffers(); ++id) {
      const Buffer &buffer = problem.buffer(id);
      std::set<NodeId> open = readers(id);
      for (NodeId done : order)
        open.erase(done);
      bool isLast = open == std::set<NodeId>{node} ||
                    (open.empty() && buffer.producer == node);
      bytes += buffer.freed && isLast ? buffer.bytes : 0;
    }
    return bytes;
  }

  const Problem &problem;
  Order order;
};

constexpr PeakMemoryMethod incoming = PeakMemoryMethod::Incoming;
constexpr PeakMemoryMethod lpmf = PeakMemoryMethod::LeastPeakMemoryFirst;
constexpr PeakMemoryMethod bfs = PeakMemoryMethod::BreadthFirst;
constexpr PeakMemoryMethod dfs = PeakMemoryMethod::DepthFirst;

/// The method that is chosen.
PeakMemoryMethod choose(const Problem &problem,
                        const std::vector<PeakMemoryMethod> &methods = {
                            lpmf, bfs, dfs}) {
  return need(choosePeakMemoryOrder(problem, methods)).best.method;
}

/// The peaks of the order of the program, and by lpmf, bfs and dfs.
std::vector<int64_t> peaks(const Problem &problem) {
  std::vector<int64_t> bytes;
  for (const PeakMemoryCandidate &candidate :
       need(choosePeakMemoryOrder(problem)).candidates)
    bytes.push_back(candidate.peakBytes);
  return bytes;
}

/// Two products of one input and a product of each, summed; the first two are
/// returned, for the backward pass, and the sum.
Problem makeTwoBranches() {
  return TextProblem(R"(
    x = arg 8192!; wide1 = 1 x -> 81920!; narrow1 = 1 x -> 8192!
    narrow2 = 1 wide1 -> 8192; wide2 = 1 narrow1 -> 81920
    sum1 = 1 narrow2 -> 4; sum2 = 1 wide2 -> 40; sum = 1 sum1 sum2 -> 4!)");
}

TEST(PeakMemoryOrders, TheFirstOfEqualsIsChosen) {
  Problem problem = makeTwoBranches();
  EXPECT_EQ(peaks(problem),
            (std::vector<int64_t>{188420, 180268, 188420, 180268}));
  PeakMemoryChoice choice = need(choosePeakMemoryOrder(problem));
  EXPECT_EQ(choice.best.method, lpmf);
  EXPECT_EQ(choice.best.peakBytes, 180268);
  EXPECT_EQ(choice.order, (Order{1, 0, 2, 4, 3, 5, 6}));
  EXPECT_EQ(choose(problem, {bfs}), incoming);
  EXPECT_EQ(choose(problem, {dfs, lpmf}), dfs);
  EXPECT_EQ(choose(problem, {}), incoming);
}

TEST(PeakMemoryOrders, ReportsTheProblemsOwnError) {
  Problem problem;
  const char *error = "the problem is not finalized";
  EXPECT_EQ(sortLeastPeakMemoryFirst(problem).error(), error);
  EXPECT_EQ(sortBreadthFirst(problem).error(), error);
  EXPECT_EQ(sortDepthFirst(problem).error(), error);
  EXPECT_EQ(choosePeakMemoryOrder(problem).error(), error);
}

TEST(PeakMemoryOrders, RejectsAProgramInAnIllegalOrder) {
  TextProblem problem("a = 1 b; b = 1");
  EXPECT_EQ(choosePeakMemoryOrder(problem).error(),
            "node 0 (compute) at position 0 comes before node 1 (compute) at "
            "position 1, on which it depends (data)");
  EXPECT_EQ(need(sortLeastPeakMemoryFirst(problem)), (Order{1, 0}));
}

TEST(PeakMemoryOrders, RejectsAUseThatDependsOnNothing) {
  EXPECT_EQ(
      sortLeastPeakMemoryFirst(TextProblem("a = 1 -> 8; b = 1 use:a")).error(),
      "the sort by least peak memory made an invalid order: node 1 (compute) "
      "at position 0 uses buffer 0 before node 0 (compute) at position 1 makes "
      "it");
}

/// Everything ready at once, and one chain: neither may take the square of the
/// operations, nor a recursion as deep.
TEST(PeakMemoryOrders, WideAndDeep) {
  constexpr int32_t size = 200000;
  for (bool isDeep : {false, true}) {
    Problem problem;
    problem.addNode(NodeKind::Compute, 1);
    for (NodeId node = 1; node < size; ++node) {
      problem.addNode(NodeKind::Compute, 1);
      problem.addDependence(isDeep ? node - 1 : 0, node, DependenceKind::Data);
      problem.addBuffer(isDeep ? size - node : node, node, true);
    }
    problem.finalize();
    PeakMemoryChoice choice = need(choosePeakMemoryOrder(problem));
    EXPECT_EQ(choice.order, programOrder(problem));
  }
}

TEST(PeakMemoryOrders, AgreeWithTheReference) {
  std::map<PeakMemoryMethod, int> chosen;
  for (uint64_t seed : Seeds(1000)) {
    RandomProblemOptions options;
    options.maxNodes = seed % 10 == 0 ? 40 : 15;
    options.shuffleProgram = seed % 3 == 0;
    Problem problem = makeRandomProblem(seed, options);
    ReferencePeakMemoryOrders reference(problem);
    ASSERT_EQ(need(sortLeastPeakMemoryFirst(problem)),
              reference.leastPeakMemoryFirst());
    ASSERT_EQ(need(sortBreadthFirst(problem)), reference.breadthFirst());
    ASSERT_EQ(need(sortDepthFirst(problem)), reference.depthFirst());
    if (!verify(problem, programOrder(problem)))
      continue;
    PeakMemoryChoice choice = need(choosePeakMemoryOrder(problem));
    ASSERT_TRUE(verify(problem, choice.order));
    EXPECT_EQ(simulateMemory(problem, choice.order)->peakBytes,
              choice.best.peakBytes);
    EXPECT_LE(choice.best.peakBytes,
              simulateMemory(problem, programOrder(problem))->peakBytes);
    ++chosen[choice.best.method];
  }
  for (PeakMemoryMethod method : {incoming, lpmf, bfs, dfs})
    EXPECT_GT(chosen[method], 10) << toString(method);
}

/// What is found for the program; the first order has to be legal.
SmallerOrders find(const Problem &problem) {
  SmallerOrders found = need(findSmallerOrders(problem));
  if (!found.orders.empty()) {
    EXPECT_TRUE(verify(problem, found.orders.front()));
  }
  return found;
}

TEST(SmallerOrders, AProgramWithTheLeastPeakHasNone) {
  SmallerOrders found =
      find(TextProblem("a = 10 -> 100; b = 10 a -> 1!; c = 10 -> 100; "
                       "d = 10 c -> 1!"));
  EXPECT_TRUE(found.orders.empty());
  EXPECT_EQ(found.leastBytes, 102);
}

TEST(SmallerOrders, ChainsComeOneAfterTheOther) {
  TextProblem problem("a = 10 -> 100; c = 10 -> 100; b = 10 a -> 1!; "
                      "d = 10 c -> 1!");
  SmallerOrders found = find(problem);
  ASSERT_FALSE(found.orders.empty());
  EXPECT_EQ(found.leastBytes, 102);
  EXPECT_EQ(simulateMemory(problem, found.orders.front())->peakBytes, 102);
}

TEST(SmallerOrders, OverlapOfCollectivesIsNoPoorOrder) {
  // Both gathers are in flight at once: that takes memory, and is better.
  SmallerOrders found = find(TextProblem(R"(
    a = start 10 -> 100; b = start 10 -> 100; wait a; useA = 10 a' -> 1!
    wait b; useB = 10 b' -> 1!)"));
  EXPECT_TRUE(found.orders.empty());
  EXPECT_EQ(found.leastBytes, 102);
}

TEST(SmallerOrders, NothingWaitsForAView) {
  // A chain of gradients, and behind it all products of one, which read it
  // through a view that takes no memory, and of a saved value.
  SmallerOrders found = find(TextProblem(
      "gradient-1 = arg 0;" + repeat(8, "gradient$ = 10 gradient^ -> 100") +
      repeat(8, "view$ = 0 gradient$ -> gradient$") + repeat(8, R"(
        saved$ = arg 150; product$ = 10 view$ saved$ -> 400
        sum$ = 1 product$ -> 1!)")));
  ASSERT_FALSE(found.orders.empty());
  // All saved values, a gradient with its product, and the next gradient.
  EXPECT_EQ(found.leastBytes, 8 * 150 + 100 + 400 + 100);
}

TEST(SmallerOrders, OrdersWithThePeakOfTheProgramAreApart) {
  TextProblem problem("a = 10 -> 100; b = 10 a -> 1!; c = 30 -> 100; "
                      "d = 30 c -> 1!");
  SmallerOrders found = find(problem);
  EXPECT_TRUE(found.orders.empty());
  // Along the longest chain.
  ASSERT_FALSE(found.equalOrders.empty());
  EXPECT_EQ(problem.tell(found.equalOrders.front()), "c d a b");
}

TEST(SmallerOrders, AnInvalidProgramIsAnError) {
  EXPECT_FALSE(findSmallerOrders(TextProblem("a = 10 b; b = 10")));
}

} // namespace
