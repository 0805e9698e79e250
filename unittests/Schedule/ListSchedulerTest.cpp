//===- ListSchedulerTest.cpp - Tests of Inductor's orders -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Inductor/ListScheduler.h"
#include "CommSched/Schedule/Inductor/AutogradOrder.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

/// The list scheduler literally by its description: scores from all ancestors
/// of every collective, and linear searches over all operations in every step.
class ReferenceListScheduler {
public:
  ReferenceListScheduler(const Problem &problem, ListSchedulerOptions options)
      : problem(problem), options(options),
        collectiveOf(problem.numNodes(), std::numeric_limits<int32_t>::max()) {
    int32_t index = 0;
    for (NodeId node = 0; node < problem.numNodes(); ++node) {
      if (!problem.isCollective(node))
        continue;
      for (NodeId ancestor : ancestorsAndSelf(node))
        collectiveOf[ancestor] = std::min(collectiveOf[ancestor], index);
      ++index;
    }
  }

  Order run() {
    while (true) {
      NodeId node = bestReady(/*onlyCompute=*/false);
      if (node == noNode)
        return order;
      order.push_back(node);
      if (!options.reorderForOverlap || !problem.isCollective(node))
        continue;
      int64_t remaining = problem.costNs(node);
      while (remaining > 0) {
        NodeId beside = bestReady(/*onlyCompute=*/true);
        if (beside == noNode)
          break;
        order.push_back(beside);
        remaining -= problem.costNs(beside);
      }
    }
  }

private:
  using Score = std::tuple<int32_t, int32_t, NodeId>;

  std::set<NodeId> ancestorsAndSelf(NodeId node) const {
    std::set<NodeId> found = {node};
    std::vector<NodeId> open = {node};
    while (!open.empty()) {
      NodeId next = open.back();
      open.pop_back();
      for (DependenceEnd end : problem.predecessors(next))
        if (found.insert(end.node).second)
          open.push_back(end.node);
    }
    return found;
  }

  bool isScheduled(NodeId node) const {
    return std::find(order.begin(), order.end(), node) != order.end();
  }

  bool isReady(NodeId node) const {
    for (DependenceEnd end : problem.predecessors(node))
      if (!isScheduled(end.node))
        return false;
    return !isScheduled(node);
  }

  Score score(NodeId node) const {
    bool isWait = problem.kind(node) == NodeKind::Wait;
    return {options.raiseComms ? collectiveOf[node] : 0,
            options.sinkWaits && isWait ? 1 : 0, node};
  }

  NodeId bestReady(bool onlyCompute) const {
    NodeId best = noNode;
    for (NodeId node = 0; node < problem.numNodes(); ++node) {
      if (!isReady(node) ||
          (onlyCompute && problem.kind(node) != NodeKind::Compute))
        continue;
      if (best == noNode || score(node) < score(best))
        best = node;
    }
    return best;
  }

  const Problem &problem;
  ListSchedulerOptions options;
  std::vector<int32_t> collectiveOf;
  Order order;
};

Order listSchedule(const Problem &problem, ListSchedulerOptions options) {
  return need(ListScheduler(options).run(problem));
}

TEST(ListScheduler, ReportsTheProblemsOwnError) {
  EXPECT_EQ(ListScheduler({true, true, true}).run(Problem()).error(),
            "the problem is not finalized");
}

class ListSchedulerRandom : public ::testing::TestWithParam<int> {
protected:
  ListSchedulerOptions options() const {
    return {(GetParam() & 1) != 0, (GetParam() & 2) != 0,
            (GetParam() & 4) != 0};
  }
};

/// Every combination of options, on thousands of problems.
TEST_P(ListSchedulerRandom, AgreesWithTheReference) {
  int moved = 0;
  for (uint64_t seed : Seeds(2500)) {
    RandomProblemOptions random;
    random.maxNodes = seed % 10 == 0 ? 80 : 25;
    random.shuffleProgram = seed % 3 == 0;
    Problem problem = makeRandomProblem(seed, random);
    if (seed % 4 == 1 && !random.shuffleProgram) {
      addCollectiveOrder(problem, seed % 8 == 1 ? CollectiveOrderScope::Global
                                                : CollectiveOrderScope::Stream);
      problem.finalize();
    }
    ASSERT_TRUE(problem.check()) << problem.check().error();
    Order order = listSchedule(problem, options());
    ASSERT_EQ(order, ReferenceListScheduler(problem, options()).run());
    ASSERT_TRUE(verify(problem, order));
    moved += order != programOrder(problem);
  }
  if (GetParam() != 0) {
    EXPECT_GT(moved, 150);
  }
}

INSTANTIATE_TEST_SUITE_P(AllOptions, ListSchedulerRandom,
                         ::testing::Range(0, 8));

TEST(LimitingFactor, NamesTheNearestNeighbourAndTheReason) {
  TextProblem problem(R"(
    early = 1; late = 1; s = start 1 early order:late memory:late; wait s
    fence = 1 barrier:s)");
  auto tell = [&](std::optional<DependenceEnd> end) {
    return end ? problem.tell({end->node}) + " " + toString(end->kind) : "";
  };
  Positions positions = *invert(problem, {0, 1, 2, 3, 4});
  EXPECT_EQ(tell(limitEarlier(problem, positions, problem["s"])),
            "late memory");
  EXPECT_EQ(tell(limitLater(problem, positions, problem["s"])), "s' data");

  // In another order, others are the nearest.
  positions = *invert(problem, {1, 0, 2, 4, 3});
  EXPECT_EQ(tell(limitEarlier(problem, positions, problem["s"])), "early data");
  EXPECT_EQ(tell(limitLater(problem, positions, problem["s"])),
            "fence barrier");
  EXPECT_FALSE(limitEarlier(problem, positions, problem["early"]));
  EXPECT_FALSE(limitLater(problem, positions, problem["s'"]));
}

/// Moving up to the limit is legal, and past it is not.
TEST(LimitingFactor, IsExactlyHowFarAnOperationCanMove) {
  RandomProblemOptions options;
  options.maxNodes = 20;
  auto move = [](Order order, int32_t from, int32_t to) {
    if (from < to)
      std::rotate(order.begin() + from, order.begin() + from + 1,
                  order.begin() + to + 1);
    else
      std::rotate(order.begin() + to, order.begin() + from,
                  order.begin() + from + 1);
    return order;
  };
  for (uint64_t seed : Seeds(300)) {
    Problem problem = makeRandomProblem(seed, options);
    Order order = makeRandomOrder(seed, problem);
    Positions positions = need(invert(problem, order));
    int32_t last = problem.numNodes() - 1;
    for (NodeId node : order) {
      int32_t position = positions[node];
      std::optional<DependenceEnd> before =
          limitEarlier(problem, positions, node);
      int32_t first = before ? positions[before->node] + 1 : 0;
      EXPECT_TRUE(verify(problem, move(order, position, first)))
          << "node " << node;
      if (before) {
        EXPECT_FALSE(verify(problem, move(order, position, first - 1)))
            << "node " << node;
      }
      std::optional<DependenceEnd> after = limitLater(problem, positions, node);
      int32_t final = after ? positions[after->node] - 1 : last;
      EXPECT_TRUE(verify(problem, move(order, position, final)))
          << "node " << node;
      if (after) {
        EXPECT_FALSE(verify(problem, move(order, position, final + 1)))
            << "node " << node;
      }
    }
  }
}

Order expectOrder(const Problem &problem, NodeId firstBackward,
                  const std::vector<NodeId> &keptInFront = {}) {
  return need(mimicAutogradOrder(problem, firstBackward, keptInFront));
}

std::string errorOf(const Problem &problem, NodeId firstBackward,
                    const std::vector<NodeId> &keptInFront = {}) {
  return mimicAutogradOrder(problem, firstBackward, keptInFront).error();
}

/// Adds what `node` needs to `missing`, and what that needs, unless it is there
/// or among `placed`.
void collect(const Problem &problem, NodeId node,
             const std::set<NodeId> &placed, std::set<NodeId> &missing) {
  if (placed.count(node) || !missing.insert(node).second)
    return;
  for (DependenceEnd end : problem.predecessors(node))
    collect(problem, end.node, placed, missing);
  for (BufferId buffer : problem.buffersUsedBy(node))
    if (NodeId producer = problem.buffer(buffer).producer; producer != noNode)
      collect(problem, producer, placed, missing);
}

/// The order as its definition reads: one walk for each operation that has a
/// turn.
Order mimicSlowly(const Problem &problem, NodeId firstBackward,
                  const std::vector<NodeId> &keptInFront) {
  std::vector<NodeId> turns = keptInFront;
  for (NodeId node = firstBackward; node < problem.numNodes(); ++node)
    turns.push_back(node);
  for (NodeId node = 0; node < firstBackward; ++node)
    turns.push_back(node);
  Order order;
  std::set<NodeId> placed;
  // The last turns are those of what nothing needs; each comes with what it
  // needs, which is before it in the program anyway.
  for (NodeId node : turns) {
    std::set<NodeId> missing;
    collect(problem, node, placed, missing);
    order.insert(order.end(), missing.begin(), missing.end());
    placed.insert(missing.begin(), missing.end());
  }
  return order;
}

TEST(AutogradOrder, Errors) {
  TextProblem problem(repeat(4, "n$ = 1"));
  EXPECT_EQ(errorOf(problem, 5), "the backward cannot begin with node 5 of 4");
  EXPECT_EQ(errorOf(problem, -1),
            "the backward cannot begin with node -1 of 4");
  EXPECT_EQ(errorOf(problem, 2, {2}),
            "node 2 cannot be kept in front of node 2 and behind node -1");
  EXPECT_EQ(errorOf(problem, 2, {1, 0}),
            "node 0 cannot be kept in front of node 2 and behind node 1");
  EXPECT_EQ(errorOf(problem, 2, {-1}),
            "node -1 cannot be kept in front of node 2 and behind node -1");
  EXPECT_EQ(errorOf(TextProblem("a = 1 b; b = 1"), 1)
                .find("the program is not a legal order"),
            0U);
}

TEST(AutogradOrder, EqualsTheDefinition) {
  int32_t numCompared = 0;
  for (uint64_t seed : Seeds(2000)) {
    RandomProblemOptions options;
    options.impliedPercent = seed % 3 == 0 ? 50 : 0;
    Problem random = makeRandomProblem(seed, options);
    Problem problem = renumber(random, random.topologicalOrder());
    std::mt19937_64 engine(seed);
    auto numNodes = static_cast<uint64_t>(problem.numNodes());
    auto first = static_cast<NodeId>(engine() % (numNodes + 1));
    std::vector<NodeId> kept;
    for (NodeId node = 0; node < first; ++node)
      if (engine() % 8 == 0)
        kept.push_back(node);
    // Some buffers have no dependence on their producer, so they may be used
    // before.
    if (!verify(problem, problem.programOrder()))
      continue;
    ++numCompared;
    Order order = expectOrder(problem, first, kept);
    EXPECT_EQ(order, mimicSlowly(problem, first, kept));
    EXPECT_TRUE(verify(problem, order));
  }
  EXPECT_GT(numCompared, 500);
}

} // namespace
