//===- GroupedOrderTest.cpp - Tests of grouped orders ---------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Graphs/GroupedOrder.h"

#include "../Seeds.h"
#include "CommSched/Schedule/Model/Verify.h"

#include "RandomProblem.h"
#include "ReferenceGroupedOrder.h"
#include "TestProblems.h"

#include <gtest/gtest.h>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;
using namespace mlir::commsched::schedule::testing;
using mlir::commsched::testing::Seeds;

namespace {

GroupedOrder sort(const Problem &problem, const SoftConstraints &constraints) {
  Result<GroupedOrder> result = sortInGroups(problem, constraints);
  EXPECT_TRUE(result) << result.error();
  return result ? *result : GroupedOrder();
}

/// `count` computations of which none depends on another, but for the pairs.
Problem makeProblem(int count,
                    std::initializer_list<std::pair<NodeId, NodeId>> pairs) {
  Problem problem;
  for (int i = 0; i < count; ++i)
    addCompute(problem, 1);
  for (auto [from, to] : pairs)
    problem.addDependence(from, to, DependenceKind::Data);
  problem.finalize();
  return problem;
}

TEST(GroupedOrder, KeepsTheProgramWithoutConstraints) {
  for (uint64_t seed : Seeds(50)) {
    Problem problem = makeRandomProblem(seed, {});
    EXPECT_EQ(sort(problem, {}).order, programOrder(problem)) << seed;
  }
}

TEST(GroupedOrder, PutsAGroupAtThePlaceOfItsAnchor) {
  Problem problem = makeProblem(5, {});
  EXPECT_EQ(sort(problem, {{{{0, 2, 4}, 0}}, {}}).order,
            (Order{0, 2, 4, 1, 3}));
  EXPECT_EQ(sort(problem, {{{{0, 2, 4}, 2}}, {}}).order,
            (Order{1, 0, 2, 4, 3}));
  EXPECT_EQ(sort(problem, {{{{0, 2, 4}, 4}}, {}}).order,
            (Order{1, 3, 0, 2, 4}));
}

TEST(GroupedOrder, LeavesOutNoGroupThatACycleOnlyPassesThrough) {
  // 0 -> 1 -> 2 -> 3; {1, 2} stand together anyway, {0, 3} cannot.
  Problem problem = makeProblem(4, {{0, 1}, {1, 2}, {2, 3}});
  GroupedOrder result = sort(problem, {{{{0, 3}, 0}, {{1, 2}, 1}}, {}});
  EXPECT_TRUE(result.conflicts[0]);
  EXPECT_FALSE(result.conflicts[1]);
  EXPECT_EQ(result.order, programOrder(problem));
}

TEST(GroupedOrder, RejectsBadConstraints) {
  Problem problem = makeProblem(3, {});
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
    ASSERT_EQ(reference.findMistake(result), "") << "seed " << seed;
    ASSERT_EQ(result.order, reference.sort(result)) << "seed " << seed;
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

/// An order that satisfies all constraints is kept.
TEST(GroupedOrder, ChangesNothingTheSecondTime) {
  for (uint64_t seed : Seeds(2000)) {
    Problem problem = makeRandomProblem(seed, {});
    if (problem.numNodes() == 0)
      continue;
    SoftConstraints constraints = makeRandomConstraints(seed, problem);
    GroupedOrder once = sort(problem, constraints);
    std::vector<NodeId> numberOf(problem.numNodes());
    for (NodeId position = 0; position < problem.numNodes(); ++position)
      numberOf[once.order[position]] = position;
    SoftConstraints renamed;
    for (size_t index = 0; index < constraints.groups.size(); ++index) {
      if (once.conflicts[index])
        continue;
      ContiguousGroup group = constraints.groups[index];
      for (NodeId &member : group.members)
        member = numberOf[member];
      group.anchor = group.members.front();
      renamed.groups.push_back(group);
    }
    for (size_t index = 0; index < constraints.precedences.size(); ++index)
      if (once.isSatisfied[index])
        renamed.precedences.push_back(
            {numberOf[constraints.precedences[index].first],
             numberOf[constraints.precedences[index].second]});
    Problem sorted = renumber(problem, once.order);
    ASSERT_EQ(sort(sorted, renamed).order, programOrder(sorted))
        << "seed " << seed;
  }
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

} // namespace
