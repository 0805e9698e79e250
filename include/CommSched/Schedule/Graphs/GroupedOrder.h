//===- GroupedOrder.h - Topological sort under constraints ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sorts topologically under soft constraints: groups of operations that are to
// be contiguous, and precedences beside the dependences. Otherwise the order of
// the program is kept. Constraints that contradict the dependences, or
// constraints of higher priority, are dropped and reported.
//
// Partitions the operations of each label into convex sets. A set is convex if
// no path of dependences leaves it and comes back, also through other sets, so
// that one operation, such as a call, can replace it.
//
// For each label in turn, every operation gets a level: the largest number of
// times that a path to it leaves the label. Operations of the label with equal
// levels form a set. A path that leaves a set raises the level, so it cannot
// come back. Only such a path raises the level, so any two sets of a label are
// connected by one and cannot be merged. Later labels treat each set as one
// operation.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_GRAPHS_GROUPEDORDER_H
#define COMMSCHED_SCHEDULE_GRAPHS_GROUPEDORDER_H

#include "CommSched/Schedule/Model/Problem.h"

#include <utility>

namespace mlir::commsched::schedule {

/// Operations that are to run one directly after the other.
struct ContiguousGroup {
  std::vector<NodeId> members;
  /// The operation at whose place in the program the group is to run; directly
  /// before it if it is no member.
  NodeId anchor = noNode;
};

/// Constraints on an order beyond the dependences, by descending priority:
/// first the groups, then the precedences, each in their order.
struct SoftConstraints {
  /// Disjoint.
  std::vector<ContiguousGroup> groups;
  /// {a, b}: a runs before b. They are not of one group.
  std::vector<std::pair<NodeId, NodeId>> precedences;
};

/// The reason for which a group is not contiguous.
struct GroupConflict {
  /// Two members, and another operation that has to run between them.
  NodeId first = noNode;
  NodeId obstacle = noNode;
  NodeId last = noNode;
};

/// An order, and the constraints that it satisfies.
struct GroupedOrder {
  Order order;
  /// By group: nothing if it is contiguous.
  std::vector<std::optional<GroupConflict>> conflicts;
  /// By precedence: whether it holds.
  std::vector<bool> isSatisfied;
};

/// Contracts each group to one node and sorts topologically: of all nodes that
/// are ready the one next whose operation, or anchor, is the first of the
/// program; of several groups with one anchor the first. Members keep the order
/// of the program among themselves. A program that satisfies all constraints
/// stays as it is if all anchors are members.
///
/// Where dependences and constraints form a cycle, the constraint of the lowest
/// priority on it is dropped. So a dropped constraint contradicts the
/// dependences and the constraints of higher priority.
///
/// The order is verified. Error: the problem has one; a group is empty; an
/// operation does not exist or is in two groups; a precedence is within one
/// group or of an operation with itself.
/// O((nodes + dependences + precedences) log nodes), plus what lies on the
/// cycles.
Result<GroupedOrder> sortInGroups(const Problem &problem,
                                  const SoftConstraints &constraints);

/// The label of operations that are in no set.
inline constexpr int32_t noLabel = -1;

/// Operations of one label that can be replaced by one operation.
struct ConvexSet {
  int32_t label = noLabel;
  /// Ascending; at least one.
  std::vector<NodeId> members;
};

/// Sets of operations, by `labels` (one for each operation; noLabel or at least
/// 0 and below the number of operations), such that
///   - if each set is replaced by one operation that depends on whatever one of
///     its members depends on, there is no cycle of dependences,
///   - no two sets of a label could be merged without making one,
///   - the first label of the program has as few sets as there can be,
///   - a Start and its Wait are in one set, or in none: the latter if their
///     labels differ, or if dependences lead from one to the other by way of an
///     operation that cannot be in the set.
/// All other operations that have a label are in a set. The sets are sorted by
/// their first members.
///
/// Error: the problem has one, or the labels are not as said.
/// O(nodes + dependences), and as much for each label over the operations
/// between its first and its last one; that again for each round in which
/// starts and waits turn out to be apart. In addition, for each Start with a
/// label, what ContractedGraph::merge() costs.
Result<std::vector<ConvexSet>>
formConvexSets(const Problem &problem, const std::vector<int32_t> &labels);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_GRAPHS_GROUPEDORDER_H
