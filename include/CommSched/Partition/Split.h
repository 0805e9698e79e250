//===- Split.h - Two halves of a joint graph --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computes the two halves of a joint graph from a set of saved values. All
// choosers of saved values use it: it turns a choice into a partition, or
// rejects a choice that does not give one.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_PARTITION_SPLIT_H
#define COMMSCHED_PARTITION_SPLIT_H

#include "CommSched/Partition/JointGraph.h"

#include <string>
#include <variant>
#include <vector>

namespace mlir::commsched::partition {

/// A partition of a joint graph. A node may be in both halves: then the
/// backward computes it again.
struct Split {
  /// The values that the forward passes to the backward, in program order; the
  /// backward uses all of them.
  std::vector<NodeId> saved;
  /// By node: whether the half computes it. Arguments are in neither.
  std::vector<char> inForward;
  std::vector<char> inBackward;
};

/// Why there is no such partition. Texts are the ends of sentences that begin
/// with the node's name.
struct PartitionConflict {
  /// noNode: the whole graph.
  NodeId node = noNode;
  std::string reason;
  /// The node that asks for the opposite; noNode: none.
  NodeId other = noNode;
  std::string otherReason;
  /// What reads `other` on the way to `node`; noNode: there is nothing between
  /// them, or it does not matter.
  NodeId reader = noNode;
};

template <typename T>
using PartitionResult = std::variant<T, PartitionConflict>;

/// The partition in which the forward saves `saved`, nodes of `graph` in any
/// order. Linear.
///
/// The backward computes what its results need and what has to be there for its
/// effects, up to the tangents, what is saved, and the primals: an argument can
/// always be handed over, so the primals that the backward needs are saved,
/// whether asked for or not. Of `saved`, what the backward does not use is
/// dropped. The forward computes what its results and the values that are then
/// saved need, what has to be there for its effects, and what has to touch
/// memory before that. Operations with effects (`isPinned`) that nothing of the
/// backward goes into run in the forward unless their tag says otherwise. What
/// nothing needs is in neither half. All results of an operation are in the
/// halves that it is in.
///
/// `allowCollectives`: whether the backward may repeat a collective whose
/// policy does not demand it.
///
/// Conflict: a forward result or a saved value needs what isOnlyInBackward();
/// the backward would have to repeat what cannot be repeated (it is pinned, or
/// random, or kept in the forward, or to be saved); something in the forward
/// touches memory after something in the backward; a saved value is none that
/// can be saved, or is one that has to be computed again; the forward would
/// start a collective that it does not wait for.
PartitionResult<Split> split(const JointGraph &graph,
                             const std::vector<NodeId> &saved,
                             bool allowCollectives);

/// The bytes that are kept for `saved` from the forward to the backward, over
/// what is there anyway: the storages of the arguments. Values that share a
/// storage count once, with the most bytes that one of them or the first value
/// in that storage has; a value without a storage counts for itself. Linear.
int64_t computeSavedBytes(const JointGraph &graph,
                          const std::vector<NodeId> &saved);

} // namespace mlir::commsched::partition

#endif // COMMSCHED_PARTITION_SPLIT_H
