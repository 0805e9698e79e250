//===- ContractedGraphTest.cpp - Tests of graphs that change --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Graphs/ContractedGraph.h"
#include "Model/ReadyTracker.h"
#include "ReferenceContraction.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

using Ends = std::pair<NodeId, NodeId>;

/// The ends of a path; noNode twice if there is none.
Ends ends(const std::optional<JoiningPath> &path) {
  return path ? Ends{path->from, path->to} : Ends{noNode, noNode};
}

constexpr Ends nothing = {noNode, noNode};

TEST(ContractedGraph, RejectsABadProblem) {
  EXPECT_EQ(ContractedGraph::create(Problem()).error(),
            "the problem is not finalized");
}

/// Whether the graph's order has each class once and respects all dependences
/// but those within a class.
bool isTopological(const Problem &problem, const ContractedGraph &graph) {
  std::vector<int32_t> positions(problem.numNodes(), -1);
  int32_t count = 0;
  for (NodeId node : graph.topologicalOrder()) {
    if (graph.classOf(node) != node || positions[node] >= 0)
      return false;
    positions[node] = count++;
  }
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    NodeId from = graph.classOf(node);
    if (positions[from] < 0)
      return false;
    for (DependenceEnd end : problem.successors(node))
      if (NodeId to = graph.classOf(end.node);
          from != to && positions[from] >= positions[to])
        return false;
  }
  return true;
}

/// Whether `path` is a true one between the classes of `a` and `b`.
bool isPathBetween(const ReferenceContraction &reference,
                   const JoiningPath &path, NodeId a, NodeId b) {
  bool isBetween =
      reference.isMerged(path.from, a) && reference.isMerged(path.to, b);
  bool isBack =
      reference.isMerged(path.from, b) && reference.isMerged(path.to, a);
  return isBetween != isBack && reference.hasPath(path.from, path.to);
}

TEST(ContractedGraph, MergesWhatTheReferenceWould) {
  using Direct = ContractedGraph::DirectDependences;
  for (Direct direct : {Direct::Forbid, Direct::Allow}) {
    int64_t numMerged = 0, numRefused = 0;
    for (uint64_t seed : Seeds(400)) {
      Problem problem = makeEitherProblem(seed, 35);
      ContractedGraph graph = need(ContractedGraph::create(problem, direct));
      ReferenceContraction reference(problem, direct == Direct::Allow);
      std::mt19937_64 random(seed);
      for (NodeId attempt = 0; attempt < 2 * problem.numNodes(); ++attempt) {
        NodeId a = static_cast<NodeId>(random() % problem.numNodes());
        NodeId b = static_cast<NodeId>(random() % problem.numNodes());
        if (reference.isMerged(a, b)) {
          ASSERT_EQ(ends(graph.merge(a, b)), nothing);
          continue;
        }
        ReferenceContraction merged = reference;
        merged.merge(a, b);
        std::optional<JoiningPath> path = graph.findPath(a, b);
        ASSERT_EQ(path.has_value(), merged.hasCycle()) << a << " and " << b;
        ASSERT_EQ(ends(path), ends(graph.merge(a, b)));
        ASSERT_TRUE(isTopological(problem, graph));
        ASSERT_EQ(graph.classOf(a) == graph.classOf(b), !path);
        if (path)
          ASSERT_TRUE(isPathBetween(reference, *path, a, b));
        else
          reference = merged;
        ++(path ? numRefused : numMerged);
      }
    }
    EXPECT_GT(numMerged, 300);
    EXPECT_GT(numRefused, 300);
  }
}

TEST(ContractedGraph, MergesCollectivesAsTheReferenceWould) {
  int64_t numMerged = 0, numRefused = 0;
  for (uint64_t seed : Seeds(1000)) {
    Problem problem = makeEitherProblem(seed, 35);
    ContractedGraph graph = need(ContractedGraph::create(problem));
    ReferenceContraction reference(problem);
    for (NodeId a = 0; a < problem.numNodes(); ++a)
      for (NodeId b = 0; b < a; ++b) {
        if (problem.kind(a) != NodeKind::Start ||
            problem.kind(b) != NodeKind::Start || reference.isMerged(a, b))
          continue;
        ReferenceContraction merged = reference;
        merged.merge(a, b);
        merged.merge(problem.waitOf(a), problem.waitOf(b));
        std::optional<JoiningPath> path = graph.mergeCollectives(a, b);
        ASSERT_EQ(path.has_value(), merged.hasCycle()) << a << " and " << b;
        ASSERT_TRUE(isTopological(problem, graph));
        if (!path)
          reference = merged;
        ++(path ? numRefused : numMerged);
      }
  }
  EXPECT_GT(numMerged, 150);
  EXPECT_GT(numRefused, 300);
}

TEST(ContractedGraph, SearchesNoFartherThanTheSmallerSide) {
  // Between the gathers of the first and the last layer lies everything, but
  // behind a gather's start and its wait there is nothing.
  TextProblem problem("c-1 = 1;" +
                      repeat(40000, "g$ = start 1; wait g$; c$ = 1 c^ g$'"));
  ContractedGraph graph = need(ContractedGraph::create(problem));
  NodeId first = noNode;
  int64_t numMerged = 0;
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    if (problem.kind(node) != NodeKind::Start)
      continue;
    if (first == noNode)
      first = node;
    EXPECT_EQ(ends(graph.mergeCollectives(first, node)), nothing);
    ++numMerged;
  }
  EXPECT_LE(graph.numSteps(), 12 * numMerged);
}

Order ascending(NodeId count) {
  Order order(count);
  std::iota(order.begin(), order.end(), NodeId(0));
  return order;
}

/// Whether the labels agree with the links.
bool isAscending(const LinkedOrder &order) {
  Order nodes = order.nodes();
  return std::adjacent_find(
             nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) {
               return !order.isBefore(a, b) || order.isBefore(b, a);
             }) == nodes.end();
}

TEST(LinkedOrder, MovesLikeAVector) {
  for (uint64_t seed : Seeds(50)) {
    std::mt19937_64 random(seed);
    NodeId count = static_cast<NodeId>(2 + random() % 40);
    Order expected = ascending(count);
    LinkedOrder order(expected);
    for (int move = 0; move < 500; ++move) {
      NodeId node = static_cast<NodeId>(random() % count);
      NodeId place = static_cast<NodeId>(random() % count);
      if (node == place)
        continue;
      bool isAfter = random() % 2;
      order.erase(node);
      expected.erase(std::find(expected.begin(), expected.end(), node));
      if (isAfter)
        order.insertAfter(node, place);
      else
        order.insertBefore(node, place);
      expected.insert(std::find(expected.begin(), expected.end(), place) +
                          (isAfter ? 1 : 0),
                      node);
      ASSERT_EQ(order.nodes(), expected);
      ASSERT_TRUE(isAscending(order));
    }
  }
}

/// One gap takes about 40 insertions before its labels are used up.
TEST(LinkedOrder, FindsRoomAtOnePlaceAgainAndAgain) {
  constexpr NodeId count = 100000;
  for (NodeId place : {0, count / 2, count - 1})
    for (bool isAfter : {false, true}) {
      LinkedOrder order(ascending(count));
      for (NodeId node = 0; node < count; ++node) {
        if (node == place)
          continue;
        order.erase(node);
        if (isAfter)
          order.insertAfter(node, place);
        else
          order.insertBefore(node, place);
      }
      Order nodes = order.nodes();
      EXPECT_EQ(nodes.size(), size_t(count));
      EXPECT_EQ(isAfter ? nodes.front() : nodes.back(), place);
      EXPECT_TRUE(isAscending(order));
      EXPECT_LE(order.numReplaced(), 20 * int64_t(count)) << "log2(n) is 17";
    }
}

/// Labels are 2^56 apart at first, so that 56 insertions behind node 0 halve
/// the gap until the labels 2^56 + 2^i are left, of which six are below 2^56
/// + 32.
TEST(LinkedOrder, SpreadsTheSmallestRangeThatIsNotTooDense) {
  constexpr NodeId count = 63;
  LinkedOrder order(ascending(count));
  for (NodeId node = 2; node < count; ++node)
    order.erase(node);
  Order expected = {0, 1};
  auto insert = [&](NodeId node) {
    order.insertAfter(node, 0);
    expected.insert(expected.begin() + 1, node);
  };
  for (NodeId node = 2; node < 58; ++node)
    insert(node);
  EXPECT_EQ(order.numReplaced(), 0);
  insert(58);
  EXPECT_EQ(order.numReplaced(), 6) << "node 0 is at the range's begin";
  EXPECT_EQ(order.nodes(), expected);
  EXPECT_TRUE(isAscending(order));
}

/// Takes the last operation that became ready each time.
Order traverse(const Problem &problem, TraversalDirection direction) {
  ReadyTracker tracker(problem, direction);
  std::vector<NodeId> ready = tracker.listReady();
  Order order;
  while (!ready.empty()) {
    NodeId node = ready.back();
    ready.pop_back();
    order.push_back(node);
    tracker.take(node, [&](NodeId next) {
      EXPECT_TRUE(tracker.isReady(next));
      ready.push_back(next);
    });
    EXPECT_TRUE(tracker.isTaken(node));
  }
  return order;
}

TEST(ReadyTracker, TraversesInBothDirections) {
  for (uint64_t seed : Seeds(300)) {
    Problem problem = makeEitherProblem(seed);
    Order forward = traverse(problem, TraversalDirection::Forward);
    Order backward = traverse(problem, TraversalDirection::Backward);
    std::reverse(backward.begin(), backward.end());
    for (const Order &order : {forward, backward}) {
      Positions positions = need(invert(problem, order));
      for (NodeId node = 0; node < problem.numNodes(); ++node)
        for (DependenceEnd end : problem.successors(node))
          ASSERT_LT(positions[node], positions[end.node]);
    }
  }
}

} // namespace
