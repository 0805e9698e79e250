//===- SplitPropertyTest.cpp - Properties of splits of random graphs ------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/Split.h"

#include "../Seeds.h"
#include "RandomJointGraph.h"
#include "ReferenceSplit.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <random>

using namespace mlir::commsched;
using namespace mlir::commsched::partition;
using namespace mlir::commsched::partition::testing;
using mlir::commsched::testing::Seeds;

namespace {

using Nodes = std::vector<NodeId>;

/// Mostly values of the forward that can be saved; all, some or none of them.
Nodes drawSaved(const JointGraph &graph, std::mt19937 &random) {
  std::vector<char> needsTangent(graph.size(), 0);
  uint32_t percent = random() % 5 * 25;
  bool isCareless = random() % 3 == 0;
  Nodes saved;
  for (NodeId node = 0; node < graph.size(); ++node) {
    needsTangent[node] = isBackwardArgument(graph[node].kind);
    for (NodeId operand : graph.getOperands(node))
      needsTangent[node] |= needsTangent[operand];
    const JointNode &maker = graph[graph.getOperation(node)];
    bool canSave = graph[node].isSaveable && !needsTangent[node] &&
                   maker.policy != RecomputePolicy::MustRecompute;
    bool mustSave = maker.policy == RecomputePolicy::MustSave ||
                    maker.isPinned ||
                    maker.tag == PartitionTag::MustBeForward ||
                    maker.operatorClass == OperatorClass::Random ||
                    maker.operatorClass == OperatorClass::Collective;
    uint32_t chance = mustSave ? 85 : percent;
    if ((canSave || (isCareless && random() % 8 == 0)) &&
        random() % 100 < chance)
      saved.push_back(node);
  }
  return saved;
}

/// Whether everything that a half reads is at hand there.
void expectComplete(const JointGraph &graph, const Split &split) {
  std::vector<char> isSaved(graph.size(), 0);
  for (NodeId node : split.saved)
    isSaved[node] = 1;
  auto isInForward = [&](NodeId node) {
    return split.inForward[node] || graph[node].kind == JointNodeKind::Primal;
  };
  auto isInBackward = [&](NodeId node) {
    return split.inBackward[node] || isSaved[node] ||
           isBackwardArgument(graph[node].kind);
  };
  for (NodeId node = 0; node < graph.size(); ++node)
    for (NodeId operand : graph.getOperands(node)) {
      EXPECT_TRUE(!split.inForward[node] || isInForward(operand)) << node;
      EXPECT_TRUE(!split.inBackward[node] || isInBackward(operand)) << node;
    }
  for (NodeId result : graph.getForwardResults())
    EXPECT_TRUE(isInForward(result));
  for (NodeId result : graph.getBackwardResults())
    EXPECT_TRUE(isInBackward(result));
  for (NodeId node : split.saved)
    EXPECT_TRUE(isInForward(node) && graph[node].isSaveable);
}

/// Whether every operation with an effect happens once, and what happens twice
/// may.
void expectEffectsOnce(const JointGraph &graph, const Split &split) {
  for (NodeId node = 0; node < graph.size(); ++node) {
    int32_t times = split.inForward[node] + split.inBackward[node];
    if (graph[node].isPinned) {
      EXPECT_EQ(times, 1) << node;
    }
    if (graph[node].operatorClass == OperatorClass::Random) {
      EXPECT_LE(times, 1) << node;
    }
  }
  for (auto [first, second] : graph.getMemoryOrder())
    EXPECT_TRUE(split.inForward[first] || !split.inForward[second]);
}

void expectEqual(const Split &split, const Split &expected) {
  EXPECT_EQ(split.saved, expected.saved);
  EXPECT_EQ(split.inForward, expected.inForward);
  EXPECT_EQ(split.inBackward, expected.inBackward);
}

TEST(SplitPropertyTest, EqualsTheDefinition) {
  int32_t numSplit = 0;
  int32_t numConflicts = 0;
  int32_t numRepeated = 0;
  for (uint64_t seed : Seeds(4000)) {
    SCOPED_TRACE(seed);
    JointGraph graph = makeRandomJointGraph(seed);
    std::mt19937 random(seed);
    Nodes saved = drawSaved(graph, random);
    bool allowCollectives = random() % 4 == 0;
    PartitionResult<Split> result = split(graph, saved, allowCollectives);
    std::optional<Split> expected =
        ReferenceSplit::solve(graph, saved, allowCollectives);
    auto *conflict = std::get_if<PartitionConflict>(&result);
    ASSERT_EQ(conflict == nullptr, expected.has_value())
        << (conflict ? conflict->reason : "");
    if (conflict) {
      ++numConflicts;
      EXPECT_TRUE(conflict->node >= 0 && conflict->node < graph.size());
      EXPECT_NE(conflict->node, conflict->other);
      EXPECT_NE(conflict->reason, "");
      EXPECT_EQ(conflict->other == noNode, conflict->otherReason.empty());
      continue;
    }
    ++numSplit;
    const Split &halves = std::get<Split>(result);
    expectEqual(halves, *expected);
    expectComplete(graph, halves);
    expectEffectsOnce(graph, halves);
    for (NodeId node = 0; node < graph.size(); ++node)
      numRepeated += halves.inForward[node] && halves.inBackward[node];
    if (::testing::Test::HasFailure())
      return;
  }
  EXPECT_GT(numSplit, 500);
  EXPECT_GT(numConflicts, 50);
  EXPECT_GT(numRepeated, 500);
}

TEST(SplitPropertyTest, DependsOnWhatIsSavedAlone) {
  for (uint64_t seed : Seeds(500)) {
    SCOPED_TRACE(seed);
    JointGraph graph = makeRandomJointGraph(seed);
    std::mt19937 random(seed);
    Nodes saved = drawSaved(graph, random);
    PartitionResult<Split> result = split(graph, saved, true);
    // Neither on the order nor on how often it is said.
    Nodes shuffled = saved;
    if (!saved.empty())
      shuffled.push_back(saved[random() % saved.size()]);
    std::reverse(shuffled.begin(), shuffled.end());
    PartitionResult<Split> again = split(graph, shuffled, true);
    ASSERT_EQ(result.index(), again.index());
    if (auto *conflict = std::get_if<PartitionConflict>(&result)) {
      auto &other = std::get<PartitionConflict>(again);
      EXPECT_EQ(conflict->node, other.node);
      EXPECT_EQ(conflict->reason, other.reason);
      EXPECT_EQ(conflict->other, other.other);
      continue;
    }
    const Split &halves = std::get<Split>(result);
    expectEqual(halves, std::get<Split>(again));
    // Dropped values make no difference.
    expectEqual(halves, std::get<Split>(split(graph, halves.saved, true)));
  }
}

/// Whoever saves more repeats no more.
TEST(SplitPropertyTest, SavingMoreComputesLessInTheBackward) {
  int32_t numLess = 0;
  for (uint64_t seed : Seeds(2000)) {
    SCOPED_TRACE(seed);
    JointGraph graph = makeRandomJointGraph(seed);
    std::mt19937 random(seed);
    Nodes some = drawSaved(graph, random);
    Nodes more = drawSaved(graph, random);
    more.insert(more.end(), some.begin(), some.end());
    PartitionResult<Split> withSome = split(graph, some, true);
    PartitionResult<Split> withMore = split(graph, more, true);
    if (!std::holds_alternative<Split>(withSome) ||
        !std::holds_alternative<Split>(withMore))
      continue;
    const std::vector<char> &first = std::get<Split>(withSome).inBackward;
    const std::vector<char> &second = std::get<Split>(withMore).inBackward;
    for (NodeId node = 0; node < graph.size(); ++node)
      EXPECT_LE(second[node], first[node]) << node;
    numLess += first != second;
  }
  EXPECT_GT(numLess, 60);
}

} // namespace
