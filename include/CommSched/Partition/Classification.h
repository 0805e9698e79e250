//===- Classification.h - Needs of forward and backward ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Classifies the nodes of a joint graph before a partition is chosen: the nodes
// that the forward needs, the nodes that only the backward can compute, and the
// distance of each value from the backward. After `classify_nodes` of PyTorch
// 2.13 (torch/_functorch/partitioners.py).
//
// Derives recomputation policies from tags and from the treatment of gathered
// parameters, such that operations that belong together get the same policy.
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

//===----------------------------------------------------------------------===//
// Recomputation policies
//===----------------------------------------------------------------------===//

/// Whether the backward may do a collective again. A policy on the collective
/// itself comes first.
enum class CollectivePolicy : uint8_t {
  /// None: what it delivers is saved.
  Save,
  /// Gathers of parameters are done again, all of them: FSDP's
  /// reshard_after_forward.
  Recompute,
  /// Gathers of parameters whose repetition costs nothing are done again; the
  /// others if that is what the memory budget takes.
  Cost,
};

/// The first node that the user wants to be computed again, be it only by
/// preference; noNode: there is none.
NodeId findMarkedForRecomputation(const JointGraph &graph);

/// Changes policies:
///  * a policy on one part of a collective, its start or its wait, is one on
///    the other, too, and one on an operation with several results is one on
///    each of them;
///  * a value of one region of activation checkpointing that is used in a later
///    one is saved, if it would be computed again from activations: otherwise
///    the backward of the last region would compute all regions before it
///    (`cleanup_recompute_tags` of PyTorch 2.13);
///  * gathers of parameters, and the views and pointwise operations that
///    nothing but them goes into, are done again as `collectives` says.
/// Linear.
void settlePolicies(JointGraph &graph, const Classification &classes,
                    CollectivePolicy collectives);

/// Replaces the cost of every start that gathers a parameter by the price of
/// doing the gather again in the backward: the part of its time that the
/// backward's computation cannot hide.
/// Costs are nanoseconds.
///
/// The backward's operations run in program order; all gathers are done again,
/// in the order in which the backward first uses what they deliver, on one
/// stream that they share with the backward's own collectives, whenever that
/// has nothing else to do. The price is how long the first use waits. A gather
/// that only operations use which are computed again is not hidden at all.
/// Linear, but for sorting the gathers.
void priceGathers(JointGraph &graph, const Classification &classes);

} // namespace mlir::commsched::partition

#endif // COMMSCHED_PARTITION_CLASSIFICATION_H
