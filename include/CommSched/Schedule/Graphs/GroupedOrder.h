//===- GroupedOrder.h - An order that keeps groups together -----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Puts operations that belong together directly one after the other, and some
// ahead of others, and otherwise keeps the order of the program. What cannot be
// had together with the dependences is left out, and said.
//
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

/// What an order is to have beyond the dependences. Earlier wishes come first,
/// and all groups before all precedences.
struct OrderWishes {
  /// Disjoint.
  std::vector<ContiguousGroup> groups;
  /// {a, b}: a runs before b. They are not of one group.
  std::vector<std::pair<NodeId, NodeId>> precedences;
};

/// Why a group does not stand together.
struct GroupConflict {
  /// Two members, and another operation that has to run between them.
  NodeId first = noNode;
  NodeId obstacle = noNode;
  NodeId last = noNode;
};

/// An order, and which wishes it grants.
struct GroupedOrder {
  Order order;
  /// By group: nothing if its members stand together.
  std::vector<std::optional<GroupConflict>> conflicts;
  /// By precedence: whether it holds.
  std::vector<bool> isGranted;
};

/// Contracts each group to one node and sorts topologically: of all nodes that
/// are ready the one next whose operation, or anchor, is the first of the
/// program; of several groups with one anchor the first. Members keep the order
/// of the program among themselves. A program that has all that is wished for
/// stays as it is if all anchors are members.
///
/// Where dependences and wishes form a cycle, the last wish on it is left out.
/// So a wish that is left out contradicts the dependences and the wishes before
/// it.
///
/// The order is verified. Error: the problem has one; a group is empty; an
/// operation does not exist or is in two groups; a precedence is within one
/// group or of an operation with itself.
/// O((nodes + dependences + precedences) log nodes), plus what lies on the
/// cycles.
Result<GroupedOrder> sortInGroups(const Problem &problem,
                                  const OrderWishes &wishes);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_GRAPHS_GROUPEDORDER_H
