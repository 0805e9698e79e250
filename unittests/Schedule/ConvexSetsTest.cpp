//===- ConvexSetsTest.cpp - Tests of convex sets of operations ------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Graphs/ConvexSets.h"
#include "ReferenceContraction.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

using Members = std::vector<std::vector<NodeId>>;

constexpr int32_t none = noLabel;

std::vector<ConvexSet> form(const Problem &problem,
                            const std::vector<int32_t> &labels) {
  return need(formConvexSets(problem, labels));
}

Members formMembers(const Problem &problem,
                    const std::vector<int32_t> &labels) {
  Members members;
  for (const ConvexSet &set : form(problem, labels))
    members.push_back(set.members);
  return members;
}

Problem makeChain(NodeId length) {
  Problem problem;
  addCompute(problem, 1);
  for (NodeId node = 1; node < length; ++node)
    addCompute(problem, 1, {node - 1});
  problem.finalize();
  return problem;
}

/// The error for `labels` of a chain of two.
std::string errorOf(const std::vector<int32_t> &labels) {
  Problem problem = makeChain(2);
  Result<std::vector<ConvexSet>> sets = formConvexSets(problem, labels);
  return sets ? "" : sets.error();
}

TEST(ConvexSets, RejectsABadProblemAndBadLabels) {
  EXPECT_EQ(formConvexSets(Problem(), {}).error(),
            "the problem is not finalized");
  EXPECT_EQ(errorOf({0}), "there are 1 labels, but the problem has 2 nodes");
  EXPECT_EQ(errorOf({0, 2}),
            "node 1 (compute) has the label 2; the problem has 2 nodes");
  EXPECT_EQ(errorOf({-2, 0}),
            "node 0 (compute) has the label -2; the problem has 2 nodes");
}

TEST(ConvexSets, NeverTakesTwoLabelsNorMakesThemACycle) {
  EXPECT_EQ(formMembers(makeChain(4), {0, 1, 0, 1}),
            Members({{0}, {1}, {2}, {3}}));
  // 0 -> 1 and 2 -> 3, crosswise: whichever label comes first is whole.
  TextProblem problem("a = 1; b = 1 a; c = 1; d = 1 c");
  std::vector<ConvexSet> sets = form(problem, {0, 1, 1, 0});
  ASSERT_EQ(sets.size(), 3u);
  EXPECT_EQ(sets[0].label, 0);
  EXPECT_EQ(sets[0].members, std::vector<NodeId>({0, 3}));
  EXPECT_EQ(sets[1].label, 1);
  EXPECT_EQ(sets[1].members, std::vector<NodeId>({1}));
  EXPECT_EQ(sets[2].members, std::vector<NodeId>({2}));
}

/// The dependences when each set is one operation.
ReferenceContraction replace(const Problem &problem,
                             const std::vector<ConvexSet> &sets) {
  ReferenceContraction replaced(problem, /*allowsDirect=*/true);
  for (const ConvexSet &set : sets)
    for (NodeId member : set.members)
      replaced.merge(set.members.front(), member);
  return replaced;
}

/// How often a path enters operations of `label` at most, which takes as many
/// sets. A start and its wait are entered together.
int32_t countEntries(const Problem &problem, const std::vector<int32_t> &labels,
                     int32_t label) {
  std::vector<int32_t> entries(labels.size());
  for (size_t round = 0; round <= labels.size(); ++round) {
    for (NodeId node = 0; node < problem.numNodes(); ++node) {
      bool isInside = labels[node] == label;
      entries[node] = std::max(entries[node], int32_t(isInside));
      for (DependenceEnd end : problem.predecessors(node))
        entries[node] = std::max(entries[node],
                                 entries[end.node] +
                                     (isInside && labels[end.node] != label));
    }
    for (NodeId node = 0; node < problem.numNodes(); ++node) {
      NodeId wait = problem.waitOf(node);
      if (wait != noNode && labels[node] == label && labels[wait] == label)
        entries[node] = entries[wait] = std::max(entries[node], entries[wait]);
    }
  }
  return entries.empty() ? 0
                         : *std::max_element(entries.begin(), entries.end());
}

/// Whether each operation with a label is in one set, which has this label, but
/// for starts and waits that are both in none.
void checkMembers(const Problem &problem, const std::vector<int32_t> &labels,
                  const std::vector<ConvexSet> &sets) {
  std::vector<int32_t> setOf(labels.size(), none);
  NodeId last = noNode;
  for (size_t index = 0; index < sets.size(); ++index) {
    const ConvexSet &set = sets[index];
    ASSERT_FALSE(set.members.empty());
    ASSERT_TRUE(std::is_sorted(set.members.begin(), set.members.end()));
    ASSERT_LT(last, set.members.front());
    last = set.members.front();
    for (NodeId member : set.members) {
      ASSERT_EQ(setOf[member], none);
      ASSERT_EQ(labels[member], set.label);
      setOf[member] = static_cast<int32_t>(index);
    }
  }
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    NodeId start = problem.startOf(node);
    if (start != noNode) {
      ASSERT_EQ(setOf[start], setOf[node]);
      if (labels[start] == labels[node] && labels[node] != none &&
          setOf[node] == none) {
        ReferenceContraction merged = replace(problem, sets);
        merged.merge(start, node);
        ASSERT_TRUE(merged.hasCycle()) << start << " and " << node;
      }
    }
    if (start == noNode && problem.waitOf(node) == noNode) {
      ASSERT_EQ(setOf[node] == none, labels[node] == none);
    }
  }
}

TEST(ConvexSets, AreMaximalOnRandomGraphs) {
  int64_t numSplit = 0, numMembers = 0, numPairs = 0;
  for (uint64_t seed : Seeds(1500)) {
    Problem problem = makeEitherProblem(seed, 25);
    std::mt19937_64 random(seed);
    uint64_t numLabels = 1 + seed % 3;
    std::vector<int32_t> labels;
    for (NodeId node = 0; node < problem.numNodes(); ++node) {
      uint64_t label = random() % (2 * numLabels);
      bool isMarked =
          label < numLabels && static_cast<NodeId>(label) < problem.numNodes();
      labels.push_back(isMarked ? static_cast<int32_t>(label) : none);
    }
    std::vector<ConvexSet> sets = form(problem, labels);
    ASSERT_NO_FATAL_FAILURE(checkMembers(problem, labels, sets));
    ReferenceContraction replaced = replace(problem, sets);
    ASSERT_FALSE(replaced.hasCycle());
    std::vector<int32_t> taken(labels.size(), none);
    for (size_t a = 0; a < sets.size(); ++a) {
      for (NodeId member : sets[a].members) {
        taken[member] = sets[a].label;
        numPairs += problem.waitOf(member) != noNode;
      }
      numMembers += static_cast<int64_t>(sets[a].members.size());
      for (size_t b = 0; b < a; ++b) {
        if (sets[a].label != sets[b].label)
          continue;
        ++numSplit;
        ReferenceContraction merged = replaced;
        merged.merge(sets[a].members[0], sets[b].members[0]);
        ASSERT_TRUE(merged.hasCycle()) << a << " and " << b;
      }
    }
    if (sets.empty())
      continue;
    int32_t label = sets[0].label;
    if (numLabels == 1) {
      ASSERT_EQ(static_cast<int32_t>(sets.size()),
                countEntries(problem, taken, label));
    }
  }
  EXPECT_GT(numSplit, 300);
  EXPECT_GT(numMembers, 1500);
  EXPECT_GT(numPairs, 30);
}

TEST(ConvexSets, TakesAMillionOperations) {
  // Layers of a thousand, each with a label of its own, in which every tenth
  // operation has none.
  constexpr NodeId numNodes = 1000000;
  Problem problem = makeChain(numNodes);
  std::vector<int32_t> labels;
  for (NodeId node = 0; node < numNodes; ++node)
    labels.push_back(node % 10 == 9 ? none : node / 1000);
  std::vector<ConvexSet> sets = form(problem, labels);
  EXPECT_EQ(sets.size(), 100000u);
  EXPECT_EQ(sets.back().members.size(), 9u);
}

} // namespace
