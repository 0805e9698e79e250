//===- Classification.h - Needs of forward and backward ---------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Classifies the nodes of a joint graph before a partition is chosen: the nodes
// that the forward needs, the nodes that only the backward can compute, and the
// distance of each value from the backward. After `classify_nodes` of PyTorch
// 2.13 (torch/_functorch/partitioners.py).
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_PARTITION_CLASSIFICATION_H
#define COMMSCHED_PARTITION_CLASSIFICATION_H

#include "CommSched/Partition/Split.h"

namespace mlir::commsched::partition {

/// All vectors are by node.
struct Classification {
  /// The distance of what no backward operation needs.
  static constexpr int32_t far = 1'000'000'000;

  /// Primals, what the forward's results need, and what has to run in the
  /// forward for its effects.
  std::vector<char> requiredForward;
  /// Tangents, the other arguments that only the backward has, what the user
  /// keeps in the backward, and all that needs these.
  std::vector<char> needsTangent;
  /// These, and the results of the backward.
  std::vector<char> requiredBackward;
  /// The index among the nodes that the forward needs; -1 for the others.
  std::vector<int32_t> forwardOrder;
  /// The number of operations between the node and the first that is not in the
  /// forward; 0 for the latter, `far` if there is none.
  std::vector<int32_t> distanceToBackward;
  /// Whether the node is computed from parameters and constants alone, one
  /// collective at the least among it: a parameter that was sharded.
  std::vector<char> isGatheredParameter;
};

/// Conflict: the forward needs what isOnlyInBackward(). Linear.
PartitionResult<Classification> classify(const JointGraph &graph);

/// Whether `node` has to run in the forward for its effects.
bool isKeptInForward(const JointNode &node);

/// Whether `node` has to run in the backward for its effects.
bool isKeptInBackward(const JointNode &node);

/// Whether nothing of the forward can need `node`: an argument that it does not
/// have, or what has to run in the backward.
bool isOnlyInBackward(const JointNode &node);

/// Why that is so, as the end of a sentence that begins with the node's name.
const char *whyOnlyInBackward(const JointNode &node);

} // namespace mlir::commsched::partition

#endif // COMMSCHED_PARTITION_CLASSIFICATION_H
