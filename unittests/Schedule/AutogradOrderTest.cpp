//===- AutogradOrderTest.cpp - Tests of the order of recomputation --------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Inductor/AutogradOrder.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

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
