//===- BucketRemarks.h - Remarks on buckets ---------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Remarks of the passes that merge collectives: one for each bucket, and one
// for each collective that stays unbucketed, with the reason.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETREMARKS_H
#define COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETREMARKS_H

#include "BucketChoice.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::commsched {

/// Emits a remark on the collectives that are merged next.
void remarkBucket(func::FuncOp function, const BlockProblem &problem,
                  const schedule::Bucket &bucket, BucketMode mode);

/// The reasons for which collectives are in no bucket.
using UnbucketedReasons = DenseMap<Operation *, std::string>;

/// The solver's reason in words, for a candidate that is in no bucket.
std::string explainUnbucketed(const BlockProblem &problem,
                              const schedule::BucketAssignment &assignment);

/// Emits a remark `CollectiveAlone` on every collective of the block that has a
/// reason.
void remarkUnbucketed(func::FuncOp function, Block &block,
                      const UnbucketedReasons &reasons);

/// Emits a remark on each entry of the plan that names no collective.
void remarkUnusedEntries(func::FuncOp function, const BucketPlan &plan,
                         ArrayRef<bool> usedEntries);

/// The reason of each collective of `mergeable` that is in no bucket of
/// `chosen`: it was refused; no other one may travel with it; a dependence
/// joins it to the nearest buckets with others that may; or the rule leaves it
/// out.
///
/// Linear in the operations, and a search for each unbucketed collective, which
/// costs what lies between it and the nearest buckets.
UnbucketedReasons explainUnbucketed(const BlockProblem &problem,
                                    const MergeableSet &mergeable,
                                    const BucketChoice &chosen);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETREMARKS_H
