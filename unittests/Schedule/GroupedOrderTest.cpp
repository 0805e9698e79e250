//===- GroupedOrderTest.cpp - Tests of grouped orders and convex sets -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Graphs/GroupedOrder.h"
#include "ReferenceContraction.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

/// Checks the contract of sortInGroups() by the transitive closure of the
/// relation "has to run before" over all pairs of operations.
class ReferenceGroupedOrder {
public:
  ReferenceGroupedOrder(const Problem &problem,
                        const SoftConstraints &constraints)
      : problem(problem), constraints(constraints),
        base(*invert(problem, problem.topologicalOrder())) {}

  /// What is wrong with `result` apart from the choice of the order; "" if
  /// nothing is.
  std::string findMistake(const GroupedOrder &result) const {
    if (Status status = verify(problem, result.order); !status)
      return status.error();
    Positions positions = *invert(problem, result.order);
    for (size_t index = 0; index < constraints.groups.size(); ++index) {
      std::string name = "group " + std::to_string(index);
      std::set<NodeId> members(constraints.groups[index].members.begin(),
                               constraints.groups[index].members.end());
      const std::optional<GroupConflict> &conflict = result.conflicts[index];
      if (!conflict && !standTogether(members, positions))
        return name + " does not stand together";
      if (conflict &&
          (!members.count(conflict->first) ||
           members.count(conflict->obstacle) || !members.count(conflict->last)))
        return name + " does not conflict like that";
      if (conflict && !isSplit(index))
        return name + " was left out for nothing";
      if (conflict && !isSuccessor(conflict->obstacle, conflict->last))
        return name + ": the last does not need the obstacle";
    }
    for (size_t index = 0; index < constraints.precedences.size(); ++index) {
      auto [first, second] = constraints.precedences[index];
      std::string name = "precedence " + std::to_string(index);
      if (result.isSatisfied[index] != (positions[first] < positions[second]))
        return name + " does not hold, or is not said to";
      if (!result.isSatisfied[index] &&
          !close(constraints.groups.size(), index)[second][first])
        return name + " was left out for nothing";
    }
    return "";
  }

  /// With the constraints that `result` satisfies: always the operation or
  /// group that is ready and whose place in the program comes first.
  Order sort(const GroupedOrder &result) const {
    Order order;
    std::set<NodeId> done;
    while (order.size() < static_cast<size_t>(problem.numNodes())) {
      std::vector<NodeId> best;
      std::tuple<int32_t, bool, size_t> bestPlace = {problem.numNodes(), 0, 0};
      for (NodeId node = 0; node < problem.numNodes(); ++node) {
        std::vector<NodeId> unit = {node};
        std::tuple<int32_t, bool, size_t> place = {base[node], true, 0};
        for (size_t index = 0; index < constraints.groups.size(); ++index)
          if (!result.conflicts[index] && has(index, node)) {
            NodeId anchor = constraints.groups[index].anchor;
            unit = constraints.groups[index].members;
            place = {base[anchor], has(index, anchor), index};
          }
        if (done.count(node) || place >= bestPlace ||
            !isReady(unit, done, result))
          continue;
        best = unit;
        bestPlace = place;
      }
      std::sort(best.begin(), best.end(),
                [&](NodeId a, NodeId b) { return base[a] < base[b]; });
      order.insert(order.end(), best.begin(), best.end());
      done.insert(best.begin(), best.end());
    }
    return order;
  }

private:
  /// Whether one operation has to run before another.
  using Relation = std::vector<std::vector<bool>>;

  bool has(size_t group, NodeId node) const {
    const std::vector<NodeId> &members = constraints.groups[group].members;
    return std::find(members.begin(), members.end(), node) != members.end();
  }

  bool isSuccessor(NodeId from, NodeId to) const {
    for (DependenceEnd end : problem.successors(from))
      if (end.node == to)
        return true;
    return false;
  }

  static bool standTogether(const std::set<NodeId> &members,
                            const Positions &positions) {
    std::set<int32_t> places;
    for (NodeId member : members)
      places.insert(positions[member]);
    return *places.rbegin() - *places.begin() + 1 ==
           static_cast<int32_t>(places.size());
  }

  bool isReady(const std::vector<NodeId> &unit, const std::set<NodeId> &done,
               const GroupedOrder &result) const {
    std::set<NodeId> there = done;
    there.insert(unit.begin(), unit.end());
    for (NodeId node : unit) {
      for (DependenceEnd end : problem.predecessors(node))
        if (!there.count(end.node))
          return false;
      for (size_t index = 0; index < constraints.precedences.size(); ++index)
        if (result.isSatisfied[index] &&
            constraints.precedences[index].second == node &&
            !there.count(constraints.precedences[index].first))
          return false;
    }
    return true;
  }

  /// With the first constraints, closed transitively: what runs before a member
  /// of a group runs before all of them, and so behind it. Members of a group
  /// are not related by that alone.
  Relation close(size_t numGroups, size_t numPrecedences) const {
    NodeId count = problem.numNodes();
    size_t size = count + numGroups;
    Relation before(size, std::vector<bool>(size, false));
    std::vector<size_t> nodeOf(count);
    for (NodeId node = 0; node < count; ++node)
      nodeOf[node] = node;
    for (size_t index = 0; index < numGroups; ++index)
      for (NodeId member : constraints.groups[index].members)
        nodeOf[member] = count + index;
    for (NodeId node = 0; node < count; ++node)
      for (DependenceEnd end : problem.successors(node))
        if (nodeOf[node] != nodeOf[end.node])
          before[nodeOf[node]][nodeOf[end.node]] = true;
    for (size_t index = 0; index < numPrecedences; ++index) {
      auto [first, second] = constraints.precedences[index];
      before[nodeOf[first]][nodeOf[second]] = true;
    }
    for (size_t via = 0; via < size; ++via)
      for (size_t from = 0; from < size; ++from)
        if (before[from][via])
          for (size_t to = 0; to < size; ++to)
            if (before[via][to])
              before[from][to] = true;
    Relation result(count, std::vector<bool>(count, false));
    for (NodeId from = 0; from < count; ++from)
      for (NodeId to = 0; to < count; ++to)
        result[from][to] = before[nodeOf[from]][nodeOf[to]];
    return result;
  }

  /// Whether something has to run between two members of a group, given the
  /// groups before it.
  bool isSplit(size_t group) const {
    Relation before = close(group, 0);
    for (NodeId first : constraints.groups[group].members)
      for (NodeId last : constraints.groups[group].members)
        for (NodeId node = 0; node < problem.numNodes(); ++node)
          if (!has(group, node) && before[first][node] && before[node][last])
            return true;
    return false;
  }

  const Problem &problem;
  const SoftConstraints &constraints;
  /// Where operations stand in the program.
  Positions base;
};

GroupedOrder sort(const Problem &problem, const SoftConstraints &constraints) {
  return need(sortInGroups(problem, constraints));
}

TEST(GroupedOrder, RejectsBadConstraints) {
  TextProblem problem(repeat(3, "n$ = 1"));
  auto error = [&](const SoftConstraints &constraints) {
    return sortInGroups(problem, constraints).error();
  };
  EXPECT_EQ(error({{{{0, 3}, 0}}, {}}),
            "group 0 has node 3; the problem has 3 nodes");
  EXPECT_EQ(error({{{{0, 1}, 0}, {{2, 1}, 2}}, {}}),
            "group 1 has node 1 (compute), and so has group 0");
  EXPECT_EQ(error({{{{0, 1}, -1}}, {}}),
            "group 0 has the anchor -1; the problem has 3 nodes");
  EXPECT_EQ(error({{{{}, 0}}, {}}), "group 0 is empty");
  EXPECT_EQ(error({{}, {{0, 3}}}),
            "node 0 is to precede node 3; the problem has 3 nodes");
  EXPECT_EQ(error({{{{0, 1}, 0}}, {{0, 1}}}),
            "node 0 (compute) is to precede node 1 (compute), which is not of "
            "another group");
  EXPECT_EQ(error({{}, {{1, 1}}}),
            "node 1 (compute) is to precede node 1 (compute), which is not of "
            "another group");
  EXPECT_EQ(sortInGroups(Problem(), {}).error(),
            "the problem is not finalized");
}

/// Some operations in groups of two to four, near each other in the program,
/// and some precedences.
SoftConstraints makeRandomConstraints(uint64_t seed, const Problem &problem) {
  std::mt19937_64 random(seed);
  auto draw = [&](uint64_t end) {
    return static_cast<int32_t>(random() % end);
  };
  SoftConstraints constraints;
  std::vector<int32_t> groupOf(problem.numNodes(), -1);
  int32_t numGroups = draw(6);
  for (int32_t index = 0; index < numGroups; ++index) {
    ContiguousGroup group;
    NodeId first = draw(problem.numNodes());
    int32_t size = 1 + draw(4);
    for (int32_t i = 0; i < size; ++i) {
      NodeId member = first + draw(8);
      if (member >= problem.numNodes() || groupOf[member] >= 0)
        continue;
      groupOf[member] = static_cast<int32_t>(constraints.groups.size());
      group.members.push_back(member);
    }
    if (group.members.empty())
      continue;
    group.anchor = draw(4) == 0 ? draw(problem.numNodes())
                                : group.members[draw(group.members.size())];
    constraints.groups.push_back(group);
  }
  int32_t numPrecedences = draw(5);
  for (int32_t index = 0; index < numPrecedences; ++index) {
    NodeId first = draw(problem.numNodes());
    NodeId second = draw(problem.numNodes());
    if (first != second &&
        (groupOf[first] < 0 || groupOf[first] != groupOf[second]))
      constraints.precedences.push_back({first, second});
  }
  return constraints;
}

TEST(GroupedOrder, AgreesWithTheReferenceOnRandomProblems) {
  int64_t granted = 0, leftOutGroups = 0, leftOutPrecedences = 0, moved = 0;
  for (uint64_t seed : Seeds(10000)) {
    RandomProblemOptions options;
    options.maxNodes = seed % 10 == 0 ? 40 : 14;
    options.shuffleProgram = seed % 4 == 0;
    Problem problem = makeRandomProblem(seed, options);
    if (problem.numNodes() == 0)
      continue;
    SoftConstraints constraints = makeRandomConstraints(seed, problem);
    GroupedOrder result = sort(problem, constraints);
    ReferenceGroupedOrder reference(problem, constraints);
    ASSERT_EQ(reference.findMistake(result), "");
    ASSERT_EQ(result.order, reference.sort(result));
    for (const std::optional<GroupConflict> &conflict : result.conflicts)
      (conflict ? leftOutGroups : granted) += 1;
    for (bool isSatisfied : result.isSatisfied)
      (isSatisfied ? granted : leftOutPrecedences) += 1;
    moved += result.order != problem.topologicalOrder();
  }
  EXPECT_GT(granted, 300);
  EXPECT_GT(leftOutGroups, 300);
  EXPECT_GT(leftOutPrecedences, 300);
  EXPECT_GT(moved, 300);
}

/// Every precedence of a long program contradicts a dependence: each costs what
/// is between its two operations, not the program.
TEST(GroupedOrder, LeavesManyConstraintsOutInTime) {
  constexpr NodeId count = 200000;
  Problem problem;
  SoftConstraints constraints;
  for (NodeId node = 0; node < count; ++node)
    node == 0 ? addCompute(problem, 1) : addCompute(problem, 1, {node - 1});
  for (NodeId node = 0; node + 2 < count; node += 4) {
    constraints.groups.push_back({{node, node + 2}, node});
    constraints.precedences.push_back({node + 1, node});
  }
  problem.finalize();
  GroupedOrder result = sort(problem, constraints);
  EXPECT_EQ(result.order, programOrder(problem));
  EXPECT_TRUE(result.conflicts.back());
  EXPECT_FALSE(result.isSatisfied.back());
}

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
