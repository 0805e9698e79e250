//===- MergeCollectives.h - Makes one collective of several -----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rewriting half of bucketing: which collectives can be merged, and how. A
// merged collective either packs its members' tensors into one buffer (copy) or
// carries them side by side in one launch (coalesced).
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_BUCKETING_MERGECOLLECTIVES_H
#define COMMSCHED_LIB_TRANSFORMS_BUCKETING_MERGECOLLECTIVES_H

#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::commsched {

/// How members travel together.
enum class MergeMode { Copy, Coalesced };

/// Why `collective` cannot be merged with others in this mode; nothing if it
/// can. A collective that is itself a bucket is not merged again.
std::optional<std::string>
getUnmergeableReason(CollectiveOpInterface collective, MergeMode mode);

/// Collectives with equal keys can be merged in this mode. Only for those that
/// getUnmergeableReason() has nothing against. `multiDtype`: gathers of
/// different element types may share a buffer (mode Copy only).
Attribute getMergeKey(CollectiveOpInterface collective, MergeMode mode,
                      bool multiDtype);

/// The casts that a copy-in of these collectives absorbs, one or none a member:
/// operations with one user that convert the element type of what is sent, and
/// whose conversion the copy-in makes as well.
SmallVector<Operation *> getAbsorbedCasts(ArrayRef<CollectiveOpInterface> members,
                                          MergeMode mode);

/// A merged collective in the IR.
struct MergedCollective {
  Operation *start;
  Operation *wait;
};

/// Replaces two or more collectives with one key. Their starts stand directly
/// one after the other in one block, and so do their waits, all after the
/// starts. What each wait gave, the merged one gives, through a copy-out or
/// views if need be. New operations have a fused location, and a
/// `commsched.name` that lists the members'.
MergedCollective mergeCollectives(RewriterBase &rewriter,
                                  ArrayRef<CollectiveOpInterface> members,
                                  MergeMode mode, bool multiDtype);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_BUCKETING_MERGECOLLECTIVES_H
