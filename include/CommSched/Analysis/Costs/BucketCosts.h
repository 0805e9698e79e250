//===- BucketCosts.h - Costs of merged collectives --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Estimates the cost of several collectives as one, before the IR is rewritten:
// the merged launch and the copies around it. The times are those that
// `OperationCosts` gives the operations that a merge creates.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_COSTS_BUCKETCOSTS_H
#define COMMSCHED_ANALYSIS_COSTS_BUCKETCOSTS_H

#include "CommSched/Analysis/Costs/OperationCosts.h"
#include "CommSched/Schedule/Bucketing/BucketedProblem.h"

namespace mlir::commsched {

/// How the tensors of a bucket are sent together.
enum class BucketMode {
  /// Copied into one buffer. Gathers and reduce-scatters of the commsched
  /// dialect, and all-reduces, broadcasts and permutes of any.
  Copy,
  /// Side by side as the operands of one start. Collectives of any dialect
  /// whose interface can merge them.
  Coalesced,
};

/// Whether the time of one of `members` is pinned or measured. Then a
/// collective that replaces them should be pinned to the `collectiveNs` that
/// estimateBucket() finds.
bool hasKnownMember(OperationCosts &costs,
                    ArrayRef<CollectiveOpInterface> members);

/// Whether what `member` gathers needs a transposition behind the copy-out of a
/// bucket: its shards are joined along another dimension than the first (that
/// is larger than 1).
bool isTransposed(CollectiveOpInterface member);

/// By how many kernels a bucket with that member is packed, and what a bucket
/// of gathers delivers is copied out: one, but with `commsched.separate_copies`
/// two where casts are absorbed, the second of which converts what is packed,
/// and one for each member, as with `commsched.packed_launches`.
int64_t getCopyInKernels(Operation *member, bool absorbsCasts);
int64_t getCopyOutKernels(Operation *member, size_t numMembers);

/// The cost of `members` as one launch:
///  * the collective: all their bytes in one launch of the kind, as one tensor
///    (by copy) or as many (coalesced); where launches are packed later, as one
///    with the kernels of that, too. Where members are pinned, that time
///    times what they take together over what is estimated for them together,
///    and at least what the longest of them is pinned to: the pins say how far
///    the estimates are off, and the estimates what launches share;
///  * by copy, the copy-in: reads what the members send and writes as much. A
///    member that sends the result of one of `absorbedCasts` reads the cast's
///    operand instead. A second kernel converts what the first has packed;
///  * by copy, the copy-out: a gather's reads and writes what is delivered, and
///    once more each tensor whose rows are then brought together because it is
///    gathered along another dimension than the first (that is larger than 1);
///    the results of the other kinds are views.
/// `memory` says where their tensors are stored then.
/// `absorbed` of the result is left empty: it names nodes of a problem.
///
/// `members` are one or more collectives of one kind and group, which is not
/// a send, receive or barrier. None when a size or the group is not known,
/// or the sums do not fit in 64 bits. Linear in the tensors.
std::optional<schedule::BucketCost>
estimateBucket(OperationCosts &costs, ArrayRef<CollectiveOpInterface> members,
               BucketMode mode, ArrayRef<Operation *> absorbedCasts = {});

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_COSTS_BUCKETCOSTS_H
