//===- OverlapBlame.h - Which buckets cost overlap --------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compares how a merged program runs with how the original one does, and finds
// the buckets to which it is due that something is worse.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_BUCKETING_OVERLAPBLAME_H
#define COMMSCHED_LIB_SCHEDULE_BUCKETING_OVERLAPBLAME_H

#include "CommSched/Schedule/Bucketing/BucketedProblem.h"
#include "CommSched/Schedule/Model/Simulator.h"

namespace mlir::commsched::schedule {

/// How an order of a problem runs.
struct Execution {
  Timeline timeline;
  /// By node: how long a collective ran while the compute stream stood still,
  /// for whatever it waited; 0 for other nodes.
  std::vector<int64_t> uncoveredNs;
  /// By node: the cost of all computation before it.
  std::vector<int64_t> computedNs;
};

/// Error: that of simulate(). O(nodes * log(waits)).
Result<Execution> execute(const Problem &problem, const Order &order);

/// A merged program beside the original one.
struct BucketedExecution {
  const BucketedProblem &bucketed;
  const std::vector<BucketCost> &costs;
  const Order &order;
  /// Of the original program in its own order.
  const Execution &before;
  /// Of the merged program in `order`.
  const Execution &after;
};

/// By bucket: whether it seems to be to blame. Nobody is if the step is no
/// longer and no collective more uncovered than its members were together.
/// O((nodes + members) * log(buckets)).
std::vector<bool> findBlamedBuckets(const BucketedExecution &execution);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_BUCKETING_OVERLAPBLAME_H
