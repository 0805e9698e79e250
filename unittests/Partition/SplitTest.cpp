//===- SplitTest.cpp - Tests of the split of a joint graph ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/Split.h"
#include "TestGraphs.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

using namespace mlir::commsched::partition::testing;

namespace {

std::string list(const TextGraph &graph, const std::vector<char> &half) {
  std::vector<NodeId> nodes;
  for (size_t node = 0; node < half.size(); ++node)
    if (half[node])
      nodes.push_back(static_cast<NodeId>(node));
  return graph.tell(nodes);
}

/// What is saved, and what the forward and the backward run.
std::string tellSplit(const TextGraph &graph, const std::string &saved) {
  Split split =
      expectNoConflict(partition::split(graph, graph.list(saved), false));
  return graph.tell(split.saved) + " | " + list(graph, split.inForward) +
         " | " + list(graph, split.inBackward);
}

TEST(SplitTest, StartsTakeTheirWaitsAlong) {
  EXPECT_EQ(tellSplit(TextGraph(R"(
              x = input 8; dy = tangent 8
              early = start x : pinned; earlyWait = wait 8 early
              late = start x : must-be-backward; lateWait = wait 8 late
              return x | dy)"),
                      ""),
            "x | early earlyWait | late lateWait");
}

const std::string layer = R"(
  x = input 100; w = parameter 50; dy = tangent 10
  h = mm 40 x w; y = pointwise 40 h
  dh = pointwise 40 dy y; dx = mm 100 dh w; dw = mm 50 dh x
  return y | dx dw
)";

/// Why the graph cannot be split so; "none" if it can.
std::string explain(const TextGraph &graph, const std::string &saved = "") {
  PartitionResult<Split> result = split(graph, graph.list(saved), false);
  const auto *conflict = std::get_if<PartitionConflict>(&result);
  if (!conflict)
    return "none";
  std::string text = graph.tell({conflict->node}) + " " + conflict->reason;
  if (conflict->other != noNode)
    text += "; " + graph.tell({conflict->other}) + " " + conflict->otherReason;
  if (conflict->reader != noNode)
    text += "; read by " + graph.tell({conflict->reader});
  return text;
}

const std::string butNeeds = ", but needs what only the backward has; ";
const std::string isTangent = "dy is a tangent, which only the backward has";

TEST(SplitConflictTest, TheForwardNeedsWhatOnlyTheBackwardHas) {
  const std::string tangent =
      "dy = tangent 8; middle = pointwise 8 dy; last = pointwise 8 middle;";
  EXPECT_EQ(explain(tangent + "return last"),
            "last is a result of the forward" + butNeeds + isTangent +
                "; read by middle");
  TextGraph saving(tangent + "return | last");
  EXPECT_EQ(explain(saving, "middle"),
            "middle is to be saved by the forward" + butNeeds + isTangent);
  saving["middle"].tag = PartitionTag::MustBeForward;
  EXPECT_EQ(explain(saving),
            "middle has to be in the forward" + butNeeds + isTangent);

  EXPECT_EQ(explain(TextGraph(R"(
              s = seed 8; reader = pointwise 8 s; middle = pointwise 8 reader
              last = pointwise 8 middle; return last)")),
            "last is a result of the forward" + butNeeds +
                "s is a random state that only the backward has; read by "
                "reader");

  for (const char *marks : {"must-be-backward", "backward pinned"})
    EXPECT_EQ(explain("x = input 8; y = pointwise 8 x : " + std::string(marks) +
                      "; z = pointwise 8 y; return z"),
              "z is a result of the forward" + butNeeds +
                  "y has to be in the backward");
  EXPECT_EQ(explain(TextGraph("x = input 8; y = pointwise 8 x : backward; "
                              "z = pointwise 8 y; return z")),
            "none");
}

TEST(SplitConflictTest, TheForwardTouchesMemoryAfterTheBackward) {
  TextGraph graph(R"(
    x = input 8; dy = tangent 8; gradient = pointwise 8 dy
    store = pointwise 8 gradient; load = pointwise 8 x; y = pointwise 8 load
    clear = pointwise 8 x; next = pointwise 8 x
    return y; order store load; order clear next)");
  const std::string reason = " is in the forward and touches memory after what "
                             "only the backward can compute; ";
  EXPECT_EQ(explain(graph),
            "load" + reason + "store needs what only the backward has");
  graph["clear"].tag = PartitionTag::MustBeBackward;
  graph["next"].tag = PartitionTag::MustBeForward;
  graph["dy"].kind = JointNodeKind::Primal;
  EXPECT_EQ(explain(graph),
            "next" + reason + "clear has to be in the backward");
}

TEST(SplitConflictTest, WhatIsSavedCannotBe) {
  TextGraph graph(layer);
  graph["y"].isSaveable = false;
  const std::string reason = " cannot be saved, for a function cannot return "
                             "it; ";
  EXPECT_EQ(explain(graph, "y"), "y" + reason + "dh needs it in the backward");
  EXPECT_EQ(explain(graph), "none");
  graph["x"].isSaveable = false;
  EXPECT_EQ(explain(graph), "x" + reason + "dw needs it in the backward");
}

const std::string notAgain =
    ", so it cannot be computed again, but is not saved for the backward";

TEST(SplitConflictTest, TheBackwardWouldRepeatWhatItCannot) {
  auto expectReason = [](auto change, const std::string &reason) {
    TextGraph graph(layer);
    change(graph["h"]);
    EXPECT_EQ(explain(graph), "h " + reason + notAgain +
                                  "; dh is in the backward and needs it");
    EXPECT_EQ(explain(graph, "h"), "none");
    EXPECT_EQ(explain(graph, "y"), "none");
  };
  expectReason([](JointNode &h) { h.isPinned = true; },
               "touches memory that is written");
  expectReason(
      [](JointNode &h) {
        h.isPinned = true;
        h.operatorClass = OperatorClass::Collective;
      },
      "must run exactly once");
  expectReason([](JointNode &h) { h.tag = PartitionTag::MustBeForward; },
               "has to be in the forward");
  expectReason([](JointNode &h) { h.operatorClass = OperatorClass::Random; },
               "draws random numbers");
  expectReason([](JointNode &h) { h.policy = RecomputePolicy::MustSave; },
               "has to be saved");
}

TEST(SplitConflictTest, NamesTheResultThatNeedsARepetition) {
  EXPECT_EQ(explain(TextGraph("x = input 8; draw = several random x; "
                              "r = result 8 draw; return r | r")),
            "draw draws random numbers" + notAgain +
                "; r is a result of the backward");
  EXPECT_EQ(explain(TextGraph("x = input 8; draw = random 8 x; "
                              "return draw | draw")),
            "draw draws random numbers" + notAgain);
}

TEST(SavedBytesTest, CountsStoragesOnce) {
  TextGraph graph(R"(
    x = input 100; w = parameter 50; shownInput = view x; h = mm 40 x w
    part = view h : bytes=10; whole = view h; number = pointwise 3 h)");
  graph["number"].storage = -1;
  auto count = [&](const char *saved) {
    return computeSavedBytes(graph, graph.list(saved));
  };
  EXPECT_EQ(count(""), 0);
  // The arguments are there anyway.
  EXPECT_EQ(count("x w shownInput"), 0);
  // A view keeps all that it shows a part of, and nothing twice.
  EXPECT_EQ(count("part"), 40);
  EXPECT_EQ(count("whole part h h"), 40);
  EXPECT_EQ(count("part number x number"), 43);
  graph["x"].storage = -1;
  EXPECT_EQ(count("x"), 0);
  // A view that is larger than what it shows: a storage that was resized.
  graph["whole"].bytes = 70;
  EXPECT_EQ(count("part"), 40);
  EXPECT_EQ(count("part whole"), 70);
}

/// Computes the halves literally by the contract of split(): every property of
/// a node is derived from its users.
class ReferenceSplit {
public:
  /// Nothing if there is a conflict.
  static std::optional<Split> solve(const JointGraph &graph,
                                    const std::vector<NodeId> &saved,
                                    bool allowCollectives) {
    ReferenceSplit reference(graph, saved);
    for (NodeId node = 0; node < graph.size(); ++node)
      if (reference.isInConflict(node, allowCollectives))
        return std::nullopt;
    return reference.makeSplit();
  }

private:
  ReferenceSplit(const JointGraph &graph, const std::vector<NodeId> &saved)
      : graph(graph), saved(saved.begin(), saved.end()) {}

  static bool contains(const std::vector<NodeId> &nodes, NodeId node) {
    return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
  }
  template <typename Range, typename Predicate>
  static bool any(const Range &range, Predicate predicate) {
    return std::any_of(range.begin(), range.end(), predicate);
  }
  bool isOperation(NodeId node) const {
    return graph[node].kind == JointNodeKind::Operation;
  }
  /// The answer for `node`, computed once.
  bool ask(std::map<NodeId, bool> &answers, NodeId node,
           const std::function<bool()> &compute) {
    auto known = answers.find(node);
    if (known == answers.end())
      known = answers.emplace(node, compute()).first;
    return known->second;
  }

  //===--------------------------------------------------------------------===//
  // Where a node has to be
  //===--------------------------------------------------------------------===//

  bool isKeptInBackward(NodeId node) const {
    return graph[node].tag == PartitionTag::MustBeBackward ||
           (graph[node].isPinned && graph[node].tag == PartitionTag::Backward);
  }
  bool needsBackward(NodeId node) {
    return ask(needsBackwardAnswers, node, [&] {
      return isBackwardArgument(graph[node].kind) || isKeptInBackward(node) ||
             any(graph.getOperands(node),
                 [&](NodeId operand) { return needsBackward(operand); });
    });
  }
  /// What a wait waits for; noNode for other nodes.
  NodeId getStart(NodeId node) const {
    for (NodeId operand : graph.getOperands(node))
      if (graph[operand].operatorClass == OperatorClass::Collective &&
          isOperation(operand) && isOperation(node) &&
          !graph[operand].isSaveable)
        return operand;
    return noNode;
  }
  bool hasForwardEffect(NodeId node) {
    if (!isOperation(node))
      return false;
    if (NodeId start = getStart(node); start != noNode)
      if (hasForwardEffect(start))
        return true;
    return graph[node].tag == PartitionTag::MustBeForward ||
           (graph[node].isPinned && !needsBackward(node));
  }
  bool hasBackwardEffect(NodeId node) {
    if (!isOperation(node))
      return false;
    if (NodeId start = getStart(node); start != noNode)
      if (hasBackwardEffect(start))
        return true;
    return isKeptInBackward(node) ||
           (graph[node].isPinned && needsBackward(node));
  }

  //===--------------------------------------------------------------------===//
  // Where a node is
  //===--------------------------------------------------------------------===//

  bool isNeededInBackward(NodeId node) {
    return contains(graph.getBackwardResults(), node) ||
           any(graph.getUsers(node),
               [&](NodeId user) { return isInBackward(user); });
  }
  bool isHandedOver(NodeId node) {
    return isNeededInBackward(node) &&
           (graph[node].kind == JointNodeKind::Primal || saved.count(node));
  }
  bool isInBackward(NodeId node) {
    return ask(backwardAnswers, node, [&] {
      if (graph.isArgument(node))
        return false;
      return hasBackwardEffect(node) ||
             (isNeededInBackward(node) && !isHandedOver(node));
    });
  }
  bool isInForward(NodeId node) {
    return ask(forwardAnswers, node, [&] {
      return contains(graph.getForwardResults(), node) ||
             hasForwardEffect(node) || isHandedOver(node) ||
             any(graph.getUsers(node),
                 [&](NodeId user) { return isInForward(user); }) ||
             any(graph.getMemoryOrder(), [&](JointGraph::Edge edge) {
               return edge.from == node && isInForward(edge.to);
             });
    });
  }

  //===--------------------------------------------------------------------===//
  // What follows
  //===--------------------------------------------------------------------===//

  bool mayRepeat(NodeId node, bool allowCollectives) const {
    const JointNode &data = graph[node];
    if (data.isPinned || data.operatorClass == OperatorClass::Random ||
        data.tag == PartitionTag::MustBeForward ||
        data.policy == RecomputePolicy::MustSave)
      return false;
    return data.operatorClass != OperatorClass::Collective ||
           allowCollectives ||
           data.policy == RecomputePolicy::PreferRecompute ||
           data.policy == RecomputePolicy::MustRecompute;
  }
  bool isInConflict(NodeId node, bool allowCollectives) {
    NodeId operation = graph.getOperation(node);
    if (isHandedOver(node) &&
        (!graph[node].isSaveable ||
         (!graph.isArgument(node) &&
          graph[node].policy != RecomputePolicy::MustSave &&
          graph[operation].policy == RecomputePolicy::MustRecompute)))
      return true;
    if (isInForward(node) &&
        (isBackwardArgument(graph[node].kind) || isKeptInBackward(node)))
      return true;
    if (isOperation(node) && isInForward(node) && isInBackward(node) &&
        !mayRepeat(node, allowCollectives))
      return true;
    NodeId start = getStart(node);
    return start != noNode && ((isInForward(start) && !isInForward(node)) ||
                               (isInBackward(start) && !isInBackward(node)));
  }
  Split makeSplit() {
    Split split;
    for (NodeId node = 0; node < graph.size(); ++node) {
      if (isHandedOver(node))
        split.saved.push_back(node);
      NodeId operation = graph.getOperation(node);
      bool isArgument = graph.isArgument(node);
      split.inForward.push_back(!isArgument && isInForward(operation));
      split.inBackward.push_back(!isArgument && isInBackward(operation));
    }
    return split;
  }

  const JointGraph &graph;
  std::set<NodeId> saved;
  std::map<NodeId, bool> needsBackwardAnswers;
  std::map<NodeId, bool> backwardAnswers;
  std::map<NodeId, bool> forwardAnswers;
};

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

TEST(SplitPropertyTest, EqualsTheDefinition) {
  int32_t numSplit = 0;
  int32_t numConflicts = 0;
  int32_t numRepeated = 0;
  for (uint64_t seed : Seeds(4000)) {
    JointGraph graph = makeRandomJointGraph(seed);
    std::mt19937 random(seed);
    Nodes saved = drawSaved(graph, random);
    bool allowCollectives = random() % 4 == 0;
    std::optional<Split> expected =
        ReferenceSplit::solve(graph, saved, allowCollectives);
    // Neither the order counts nor how often it is said.
    if (!saved.empty())
      saved.push_back(saved[random() % saved.size()]);
    std::reverse(saved.begin(), saved.end());
    PartitionResult<Split> result = split(graph, saved, allowCollectives);
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
    EXPECT_EQ(halves.saved, expected->saved);
    EXPECT_EQ(halves.inForward, expected->inForward);
    EXPECT_EQ(halves.inBackward, expected->inBackward);
    for (NodeId node = 0; node < graph.size(); ++node)
      numRepeated += halves.inForward[node] && halves.inBackward[node];
    if (::testing::Test::HasFailure())
      return;
  }
  EXPECT_GT(numSplit, 500);
  EXPECT_GT(numConflicts, 50);
  EXPECT_GT(numRepeated, 500);
}

} // namespace
