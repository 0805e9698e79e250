//===- ConvexSets.h - Convex sets of operations -----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
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
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_GRAPHS_CONVEXSETS_H
#define COMMSCHED_SCHEDULE_GRAPHS_CONVEXSETS_H

#include "CommSched/Schedule/Model/Problem.h"

namespace mlir::commsched::schedule {

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

#endif // COMMSCHED_SCHEDULE_GRAPHS_CONVEXSETS_H
