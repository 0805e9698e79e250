//===- BucketedProblem.h - A problem whose buckets are merged ---*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the program becomes when buckets are merged: a problem in which each
// bucket is one start and one wait, with the copies around them, and the order
// in which its operations are to run. It is what decides whether a bucket pays,
// and tells the rewriting where the merged operations go.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_BUCKETEDPROBLEM_H
#define COMMSCHED_SCHEDULE_BUCKETEDPROBLEM_H

#include "CommSched/Schedule/Bucketing.h"

namespace commsched {

/// What one merged collective costs, in nanoseconds.
struct BucketCost {
  /// On the compute stream, directly before the merged start.
  int64_t copyInNs = 0;
  /// Of the merged collective.
  int64_t collectiveNs = 0;
  /// On the compute stream, directly after the merged wait.
  int64_t copyOutNs = 0;
  /// Operations that the copy-in makes superfluous, such as casts: they cost
  /// nothing any more.
  std::vector<NodeId> absorbed;
};

/// Wishes about the places of merged operations, by index of the bucket. A
/// wish that dependences forbid is not granted.
struct BucketPlacement {
  /// {a, b}: bucket b starts before bucket a is waited for (prefetching).
  std::vector<std::pair<int32_t, int32_t>> startBeforeWait;
  /// {a, b}: bucket a is waited for as soon as bucket b has started, even if
  /// nobody needs it by then.
  std::vector<std::pair<int32_t, int32_t>> waitAfterStart;
};

class BucketedProblem {
public:
  /// Merges each bucket of `problem` to one Start and one Wait, with a Compute
  /// before and after where their costs are not 0. Node costs are those of
  /// `problem` otherwise; there are no buffers. `costs` has one entry a bucket.
  /// Error: the buckets are no disjoint sets of starts of one stream, or merging
  /// them makes a cycle. O(nodes + dependences).
  static Result<BucketedProblem> create(const Problem &problem,
                                        const std::vector<Bucket> &buckets,
                                        const std::vector<BucketCost> &costs);

  /// The merged program, finalized.
  const Problem &getProblem() const { return merged; }

  /// The node of the merged program that stands for `original`.
  NodeId nodeOf(NodeId original) const { return nodes[original]; }

  /// The merged start and wait of a bucket.
  NodeId startOf(int32_t bucket) const { return starts[bucket]; }
  NodeId waitOf(int32_t bucket) const { return waits[bucket]; }

  /// An order of the merged program as close to the original one as the
  /// buckets allow:
  ///  - a merged start comes where the first member was, and what the other
  ///    members need comes up with it as long as it is cheap (no collective, no
  ///    wait, nothing expensive); otherwise as soon as all members are ready,
  ///  - a merged wait comes directly before the first operation that needs it,
  ///    at the latest at the end,
  ///  - everything else keeps its order, but for what has to come after a
  ///    merged start that comes later than one of its members did.
  /// Verified. O((nodes + dependences) log nodes).
  Result<Order> place(const BucketPlacement &placement = {}) const;

  /// An order of the original problem that runs the members' starts one
  /// directly after the other, and so their waits, and is otherwise `order`.
  /// Verified against the original problem, but for the order of members among
  /// themselves.
  Result<Order> expand(const Order &order) const;

private:
  Problem merged;
  /// By node of the original problem.
  std::vector<NodeId> nodes;
  /// By bucket.
  std::vector<NodeId> starts;
  std::vector<NodeId> waits;
};

} // namespace commsched

#endif // COMMSCHED_SCHEDULE_BUCKETEDPROBLEM_H
