//===- RecomputePolicies.h - Recomputation policies -------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Derives recomputation policies from tags and from the treatment of gathered
// parameters, such that operations that belong together get the same policy.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_PARTITION_RECOMPUTEPOLICIES_H
#define COMMSCHED_PARTITION_RECOMPUTEPOLICIES_H

#include "CommSched/Partition/Classification.h"

namespace mlir::commsched::partition {

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

#endif // COMMSCHED_PARTITION_RECOMPUTEPOLICIES_H
