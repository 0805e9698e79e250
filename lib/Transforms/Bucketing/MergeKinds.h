//===- MergeKinds.h - Merged operations by kind of collective ---*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Creates the operations that replace the members of a bucket: one function
// for each kind of collective that is copied, one for coalesced launches, and
// the views and attributes that they share.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_BUCKETING_MERGEKINDS_H
#define COMMSCHED_LIB_TRANSFORMS_BUCKETING_MERGEKINDS_H

#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::commsched {

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

/// The operations that replace the members in the IR.
struct MergedOperations {
  Operation *start = nullptr;
  Operation *wait = nullptr;
  /// By member: what its wait gave.
  SmallVector<Value> values;
};

/// These create the new operations: copy-in and start before the last of
/// `starts`, wait and what follows before the first of `waits`. Nothing is
/// replaced.
/// `multiDtype` as for mergeCollectives().
MergedOperations mergeAllGathers(RewriterBase &rewriter,
                                 const MergeMembers &bucket, bool multiDtype);
MergedOperations mergeReduceScatters(RewriterBase &rewriter,
                                     const MergeMembers &bucket);
/// For all-reduces, broadcasts and permutes.
MergedOperations mergeElementWise(RewriterBase &rewriter,
                                  const MergeMembers &bucket);
MergedOperations coalesceCollectives(RewriterBase &rewriter,
                                     const MergeMembers &bucket);

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// A view of `tensor`, of static shape, as a tensor of one dimension.
Value flatten(OpBuilder &builder, Location location, Value tensor);

/// A view of `flat`, a tensor of one dimension, with the given shape.
Value unflatten(OpBuilder &builder, Location location, Value flat,
                RankedTensorType type);

/// Views of `flat`, in which what the members are delivered lies one after the
/// other.
SmallVector<Value> viewDelivered(OpBuilder &builder, Value flat,
                                 ArrayRef<MergeMember> members);

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

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

#endif // COMMSCHED_LIB_TRANSFORMS_BUCKETING_MERGEKINDS_H
