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

/// `layers` activations, each made of the one before it, and then as many
/// gradients, from the last to the first, each of which needs the gradient
/// before it and an activation. Each holds 10 bytes. Checkpoints are there from
/// the start: every second activation is made of one.
Problem makeCheckpointed(int32_t layers) {
  std::string text = repeat(layers / 2, R"(
    checkpoint$ = arg 10; a$ = 1 checkpoint$ -> 10; b$ = 1 a$ -> 10)");
  std::string gradient = "tangent";
  text += "tangent = arg 10;";
  for (int32_t i = layers / 2; i-- > 0;) {
    std::string id = std::to_string(i);
    text += "db" + id + " = 1 b" + id + " " + gradient + " -> 10; da" + id +
            " = 1 a" + id + " db" + id + " -> 10" + (i > 0 ? ";" : "!");
    gradient = "da" + id;
  }
  return TextProblem(text);
}

int64_t getPeak(const Problem &problem, const Order &order) {
  return need(simulateMemory(problem, order)).peakBytes;
}

TEST(AutogradOrder, ChainsComeBeforeTheirFirstConsumer) {
  // Activations 0 … 5, gradients 6 … 11 from the last layer to the first.
  Problem problem = makeCheckpointed(6);
  Order order = expectOrder(problem, 6);
  EXPECT_EQ(order, (Order{4, 5, 6, 7, 2, 3, 8, 9, 0, 1, 10, 11}));
  // Three checkpoints and the tangent are there from the start. At first six
  // activations pile up beside the tangent and one gradient; then two
  // activations, all but one checkpoint, and two gradients.
  EXPECT_EQ(getPeak(problem, problem.programOrder()), 80);
  EXPECT_EQ(getPeak(problem, order), 60);
}

TEST(AutogradOrder, Errors) {
  Problem problem = makeCheckpointed(2);
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
