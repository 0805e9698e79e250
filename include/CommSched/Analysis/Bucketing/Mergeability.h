//===- Mergeability.h - Collectives that may be merged ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules by which collectives may become one: which ones, with which others,
// and what a bucket takes over from the operations before it.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_BUCKETING_MERGEABILITY_H
#define COMMSCHED_ANALYSIS_BUCKETING_MERGEABILITY_H

#include "CommSched/Analysis/Costs/BucketCosts.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"

#include <optional>
#include <string>

namespace mlir::commsched {

/// Whether `collective` carries several tensors already: side by side, or
/// packed for it.
bool isBucket(CollectiveOpInterface collective);

/// Why `collective` cannot be merged with others in this mode, as a clause
/// ("it is blocking"); nothing if it can. A collective that is itself a bucket
/// is not merged again.
std::optional<std::string>
getUnmergeableReason(CollectiveOpInterface collective, BucketMode mode);

/// Collectives of one block with equal keys can be merged in this mode. Only
/// for those that getUnmergeableReason() has nothing against. `multiDtype`:
/// gathers of different element types may share a buffer (mode Copy only).
Attribute getMergeKey(CollectiveOpInterface collective, BucketMode mode,
                      bool multiDtype);

/// The casts that a copy-in of these collectives absorbs, at most one a member:
/// floating-point conversions with one user, which the copy-in makes as well.
/// A cast whose operand is written in place between it and the last member is
/// not among them. With `commsched.separate_copies`, there are none but those
/// of reduce-scatters each of which has one, and which convert alike. Linear in
/// the members and in the uses of what is cast.
SmallVector<Operation *>
getAbsorbedCasts(ArrayRef<CollectiveOpInterface> members, BucketMode mode);

/// Whether the storage of `value` may be written by an operation between
/// `first` and `last`, which are operations of one block and in this order.
/// True if the storage cannot be followed: memrefs, what loops carry, results
/// of control flow. Linear in the uses of all views of the storage.
bool mayBeWrittenBetween(Value value, Operation *first, Operation *last);

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_BUCKETING_MERGEABILITY_H
