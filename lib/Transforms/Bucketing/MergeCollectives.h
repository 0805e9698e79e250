//===- MergeCollectives.h - Merging of collectives into one -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rewrites the members of a bucket into one collective. It either packs their
// tensors into one buffer (copy) or carries them side by side in one launch
// (coalesced). Mergeability.h has the rules, and BucketChoice.h selects among
// the possible merges.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_BUCKETING_MERGECOLLECTIVES_H
#define COMMSCHED_LIB_TRANSFORMS_BUCKETING_MERGECOLLECTIVES_H

#include "CommSched/Analysis/Bucketing/Mergeability.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/Value.h"

namespace mlir::commsched {

/// A merged collective in the IR.
struct MergedCollective {
  Operation *start = nullptr;
  Operation *wait = nullptr;
  /// By member: what its wait gave.
  SmallVector<Value> values;
};

/// Replaces two or more collectives with one key, given in the order of the
/// block, whose bytes add up to less than 2^63. Their starts stand directly one
/// after the other, and so do their waits, in any order and after all starts.
/// The merged start comes where the last one was, with a copy-in before it, and
/// the merged wait where the waits were, followed by a copy-out or views of
/// what it gives, which have the values that the members' waits had.
///
/// New operations have a fused location. `commsched.name` lists the members',
/// `commsched.module` is the module that holds all of theirs, and
/// `commsched.partition` and `commsched.recompute` are what they agree on. The
/// start keeps the first `commsched.order`; no cost stays pinned.
MergedCollective mergeCollectives(RewriterBase &rewriter,
                                  ArrayRef<CollectiveOpInterface> members,
                                  BucketMode mode, bool multiDtype);

/// The same, but that exactly `absorbedCasts` are absorbed, of those that
/// getAbsorbedCasts() gave for the members in this order, even if operations
/// have moved since: as long as nothing that overwrites what is cast has come
/// before the last member.
MergedCollective mergeCollectives(RewriterBase &rewriter,
                                  ArrayRef<CollectiveOpInterface> members,
                                  BucketMode mode, bool multiDtype,
                                  ArrayRef<Operation *> absorbedCasts);

//===----------------------------------------------------------------------===//
// Merged operations by kind of collective
//===----------------------------------------------------------------------===//

/// One of the collectives that are merged.
struct MergeMember {
  Operation *start = nullptr;
  Operation *wait = nullptr;
  /// The cast that the copy-in absorbs; null if there is none.
  Operation *absorbedCast = nullptr;
  Value sent;
  Type delivered;

  /// The packed value.
  Value getSource() const {
    return absorbedCast ? absorbedCast->getOperand(0) : sent;
  }
  /// In mode Copy, these are tensors of static shape.
  RankedTensorType getSentType() const {
    return cast<RankedTensorType>(sent.getType());
  }
  RankedTensorType getDeliveredType() const {
    return cast<RankedTensorType>(delivered);
  }
};

/// The collectives of one bucket.
struct MergeMembers {
  /// In the order of their starts.
  SmallVector<MergeMember> members;
  /// By member.
  SmallVector<Operation *> starts;
  SmallVector<Operation *> waits;
};

/// These create the new operations: copy-in and start before the last of
/// `starts`, wait and what follows before the first of `waits`. Nothing is
/// replaced.
/// `multiDtype` as for mergeCollectives().
MergedCollective mergeAllGathers(RewriterBase &rewriter,
                                 const MergeMembers &bucket, bool multiDtype);
MergedCollective mergeReduceScatters(RewriterBase &rewriter,
                                     const MergeMembers &bucket);
/// For all-reduces, broadcasts and permutes.
MergedCollective mergeElementWise(RewriterBase &rewriter,
                                  const MergeMembers &bucket);
MergedCollective coalesceCollectives(RewriterBase &rewriter,
                                     const MergeMembers &bucket);

/// The locations of `members`, fused.
Location fuseLocations(ArrayRef<Operation *> members);

/// Sets on `merged` what is known of the operations that it stands for:
///  - `commsched.name`: the names of those that have one, joined by `+`, and
///    `suffix`, for people,
///  - `commsched.origin`: what setOrigin() makes of them,
///  - `commsched.module`: the longest dotted path that all modules begin with,
///  - `commsched.partition` and `commsched.recompute`: what all agree on.
/// Sets none that would be empty.
void setMergedAttributes(Operation *merged, ArrayRef<Operation *> members,
                         StringRef suffix = "");

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_BUCKETING_MERGECOLLECTIVES_H
