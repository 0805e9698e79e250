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

/// Says which collectives are about to become one.
void remarkBucket(func::FuncOp function, const BlockProblem &problem,
                  const schedule::Bucket &bucket, BucketMode mode);

/// Why collectives are in no bucket.
using AloneReasons = DenseMap<Operation *, std::string>;

/// The solver's reason, in words. Only for a candidate that is alone.
std::string explainAlone(const BlockProblem &problem,
                         const schedule::CandidateFate &fate);

/// Says it of every collective of the block that has a reason.
void remarkAlone(func::FuncOp function, Block &block,
                 const AloneReasons &reasons);

/// Says which entries of the plan name no collective.
void remarkUnusedEntries(func::FuncOp function, const BucketPlan &plan,
                         ArrayRef<bool> usedEntries);

/// The reason of each collective of `mergeable` that is in no bucket of
/// `chosen`: nobody may travel with it; a dependence joins it to the nearest
/// buckets with others that may; or the steps that were chosen leave it alone.
/// Those have none that were refused before.
///
/// Linear in the operations, and a search for each collective that is alone,
/// which costs what lies between it and the nearest buckets.
AloneReasons explainAlone(const BlockProblem &problem,
                          const MergeableSet &mergeable,
                          const BucketAlternative &chosen);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETREMARKS_H
