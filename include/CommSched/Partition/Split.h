//===- Split.h - Two halves of a joint graph --------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From the values that are saved to what each half computes. Whoever decides
// what is saved, and however: this is where the decision becomes a partition,
// and where a decision that is none is refused.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_PARTITION_SPLIT_H
#define COMMSCHED_PARTITION_SPLIT_H

#include "CommSched/Partition/JointGraph.h"

#include <string>
#include <variant>
#include <vector>

namespace commsched {

/// A partition of a joint graph. A node may be in both halves: then the
/// backward computes it again.
struct Split {
  /// What the forward hands to the backward, in program order: every one is
  /// used by the backward.
  std::vector<NodeId> saved;
  /// By node: whether the half computes it. Arguments are in neither.
  std::vector<char> inForward;
  std::vector<char> inBackward;
};

/// Why there is no such partition. Texts are the ends of sentences that begin
/// with the node's name.
struct PartitionConflict {
  NodeId node = noNode;
  std::string reason;
  /// The node that asks for the opposite; noNode: none.
  NodeId other = noNode;
  std::string otherReason;
};

template <typename T>
using PartitionResult = std::variant<T, PartitionConflict>;

/// The partition in which the forward saves `saved`. The forward computes what
/// its results, what is saved and what has to be there for memory's sake need;
/// the backward computes what its results need and neither is saved nor a
/// tangent. Of `saved`, what the backward does not use in the end is dropped.
/// `allowCollectives`: whether the backward may repeat a collective that no
/// policy tells to repeat.
///
/// Conflict: a forward result or a saved value needs a tangent, or what the
/// user keeps in the backward; the backward would have to repeat what cannot be
/// repeated (it is pinned, or random, or kept in the forward); something in the
/// forward touches memory after something in the backward; a saved value is
/// none that can be saved, or is one that has to be computed again.
PartitionResult<Split> split(const JointGraph &graph,
                             const std::vector<NodeId> &saved,
                             bool allowCollectives);

} // namespace commsched

#endif // COMMSCHED_PARTITION_SPLIT_H
