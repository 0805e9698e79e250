//===- BucketPricing.h - How buckets travel, and what that costs *- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Prices sets of collectives as buckets: the mode in which they travel for the
// least time, and what that takes.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETPRICING_H
#define COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETPRICING_H

#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "MergeCollectives.h"

namespace mlir::commsched {

/// How a bucket travels, and what that costs.
struct PricedBucket {
  BucketMode mode = BucketMode::Copy;
  schedule::BucketCost cost;
  /// What its copy-in absorbs; cost.absorbed has the same.
  SmallVector<Operation *> casts;
};

/// The collectives that start at these nodes of `problem`.
SmallVector<CollectiveOpInterface>
getMembers(const BlockProblem &problem, ArrayRef<schedule::NodeId> starts);

class BucketPricer {
public:
  /// Both have to live on. O(nodes).
  BucketPricer(const BlockProblem &problem, OperationCosts &costs);

  /// The first of the modes in which the members cost least, all on streams and
  /// in copies counted; the first of them if no cost is known. Linear in the
  /// members and the uses of what they send.
  PricedBucket price(ArrayRef<schedule::NodeId> starts,
                     ArrayRef<BucketMode> modes) const;

private:
  const BlockProblem &problem;
  OperationCosts &costs;
  DenseMap<Operation *, schedule::NodeId> nodes;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETPRICING_H
