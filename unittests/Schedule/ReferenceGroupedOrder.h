//===- ReferenceGroupedOrder.h - Reference of grouped orders ----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks the contract of sortInGroups() by the transitive closure of the
// relation "has to run before" over all pairs of operations.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_SCHEDULE_REFERENCEGROUPEDORDER_H
#define COMMSCHED_UNITTESTS_SCHEDULE_REFERENCEGROUPEDORDER_H

#include "CommSched/Schedule/Graphs/GroupedOrder.h"
#include "CommSched/Schedule/Model/Verify.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace mlir::commsched::schedule::testing {

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

} // namespace mlir::commsched::schedule::testing

#endif // COMMSCHED_UNITTESTS_SCHEDULE_REFERENCEGROUPEDORDER_H
