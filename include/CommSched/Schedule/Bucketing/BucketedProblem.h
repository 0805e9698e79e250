//===- BucketedProblem.h - Problem with merged buckets ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program with merged buckets: a problem in which each bucket is one start
// and one wait, with the copies around them, and the order in which its
// operations are to run. Simulating it decides whether a bucket pays, and the
// rewriting takes the places of the merged operations from it.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_BUCKETING_BUCKETEDPROBLEM_H
#define COMMSCHED_SCHEDULE_BUCKETING_BUCKETEDPROBLEM_H

#include "CommSched/Schedule/Bucketing/Bucketing.h"

namespace mlir::commsched::schedule {

/// Whether a merged program has buffers.
enum class BucketBuffers : uint8_t { LeftOut, Kept };

/// Soft constraints on the places of merged operations, by index of the bucket.
/// One that cannot be satisfied is ignored.
struct BucketPlacement {
  /// {a, b}: bucket b starts before bucket a is waited for (prefetching). When
  /// bucket a is to be waited for, b and the cheap operations that it needs run
  /// first, if it needs nothing else any more.
  std::vector<std::pair<int32_t, int32_t>> startBeforeWait;
  /// {a, b}: bucket a is waited for directly after bucket b has started, even
  /// if no operation needs its results by then; only if bucket a has started.
  std::vector<std::pair<int32_t, int32_t>> waitAfterStart;
};

class BucketedProblem {
public:
  /// Merges each bucket of `problem`, which has to live on, to one Start and
  /// one Wait, with a Compute directly before and after where their costs are
  /// not 0. Other operations cost what they did, unless they are absorbed.
  /// `costs` has one entry a bucket.
  ///
  /// Numbers follow the order of `problem`, with a merged start in the place of
  /// its first member and a merged wait in that of the first of its members'
  /// waits. Dependences may point backwards.
  ///
  /// The copy-in depends on the predecessors of all members; successors of the
  /// members' waits depend on the copy-out. Order dependences among members are
  /// dropped, since the members become one operation.
  ///
  /// With `buffers` kept, the merged program has the buffers that `memory` of
  /// the costs describes, and all others of the problem. Then each copy-in and
  /// copy-out has its Compute even if it costs nothing. An absorbed operation
  /// allocates no buffer any more: the copy-in uses the operands of the
  /// absorbed operation, and operations that overwrite these come after the
  /// merged start. simulateMemory() returns the memory of the rewritten program
  /// if the order runs a copy-in directly before its start and a copy-out
  /// directly after its wait.
  ///
  /// Error: the one of `problem`; the buckets are no disjoint sets of starts of
  /// one stream each; a member depends on another member, other than by their
  /// order; merging makes a cycle; what is absorbed is no Compute, or absorbed
  /// twice; a cost is negative. With buffers: a size is negative; a bucket
  /// without copies absorbs something; an operation outside of the bucket needs
  /// what is absorbed; what overwrites its input has to come before the bucket
  /// (a cycle, too: without absorbing anything there is none). O(nodes +
  /// dependences + uses + members * log(members)).
  static Result<BucketedProblem>
  create(const Problem &problem, const std::vector<Bucket> &buckets,
         const std::vector<BucketCost> &costs,
         BucketBuffers buffers = BucketBuffers::LeftOut);

  /// The problem that was merged.
  const Problem &getOriginal() const { return *original; }

  /// The merged program, finalized.
  const Problem &getProblem() const { return merged; }

  /// The node of the merged program that stands for `original`.
  NodeId nodeOf(NodeId original) const { return nodes[original]; }

  /// The node that a node of the merged program stands for; noNode if it
  /// belongs to a bucket.
  NodeId originalOf(NodeId node) const { return originals[node]; }

  int32_t numBuckets() const { return static_cast<int32_t>(buckets.size()); }

  /// The bucket that a node of the merged program belongs to, or -1.
  int32_t bucketOf(NodeId node) const { return bucketOfNode[node]; }

  /// The operations of the merged program that replace a bucket.
  struct MergedBucket {
    /// Of the original problem, in an order that its dependences allow: that of
    /// the program if it is one.
    std::vector<NodeId> starts;
    std::vector<NodeId> waits;
    /// Of the merged problem; noNode where nothing is copied, or, without
    /// buffers, where that costs nothing.
    NodeId copyIn = noNode;
    NodeId start = noNode;
    NodeId wait = noNode;
    NodeId copyOut = noNode;
  };
  const MergedBucket &bucket(int32_t bucket) const { return buckets[bucket]; }

  /// The merged start and wait of a bucket.
  NodeId startOf(int32_t bucket) const { return buckets[bucket].start; }
  NodeId waitOf(int32_t bucket) const { return buckets[bucket].wait; }

  /// An order of the merged program that is as close to the original one as the
  /// buckets allow.
  ///
  /// Terms. A node is *cheap* if it is no collective, no wait, not expensive
  /// and no barrier to communication. A *tail* is a node that only the end of
  /// the program needs, such as the all-reduce of the result of a
  /// reduce-scatter: it is no reason to wait for what it needs. Precisely, a
  /// node outside of the buckets is a tail if
  ///  - it is cheap, or is a start or a wait and no barrier,
  ///  - it has predecessors, all of which are merged waits, copy-outs or tails,
  ///  - all of its successors are tails,
  ///  - and, if it is a start, `placement.waitAfterStart` places each merged
  ///    wait that it needs, directly or through other tails. (Otherwise the
  ///    start had better run beside computation than at the end.)
  ///
  /// Rules.
  ///  - A merged start takes the place of the first of its members, but comes
  ///    after all nodes that it needs which are not cheap, including those that
  ///    it needs through cheap nodes. The cheap nodes that it needs move up
  ///    with it, except users of a merged wait, which keep their place.
  ///  - A merged wait runs directly before the first node that needs it and is
  ///    no tail; if there is none, at the end.
  ///  - Tails run directly after the last merged wait that they need and its
  ///    copy-out, in the order of their indices. A tail that is itself a wait
  ///    runs, with the tails that need it, at its own place in the program, or
  ///    as soon after that as it can; if its merged waits run at the end, after
  ///    all of those.
  ///  - If a merged start comes later than one of its members did, the cheap
  ///    nodes that need that member's wait move down to the place of the last
  ///    member's wait, unless a node that is not cheap needs them before.
  ///  - All other nodes keep their order, except those that have to follow a
  ///    merged start which comes later than one of its members did.
  ///
  /// A copy-in runs directly before its start and a copy-out directly after its
  /// wait. Merged waits that one node needs run in the order in which they
  /// become possible; so do those at the end. The order is verified. Error:
  /// `placement` names a bucket that does not exist. O((nodes + dependences +
  /// constraints) log nodes), but all constraints on one wait are tried again
  /// after each that is satisfied.
  Result<Order> place(const BucketPlacement &placement = {}) const;

  /// The order of the original problem that runs members' starts one directly
  /// after the other where their bucket starts, and so their waits, and is
  /// otherwise `order`, an order of the merged program. Verified against all
  /// dependences of the original problem, those among members included. Error:
  /// `order` is not legal. O(nodes + dependences + uses).
  Result<Order> expand(const Order &order) const;

private:
  friend class BucketMerger;

  const Problem *original = nullptr;
  Problem merged;
  /// By node of the original problem.
  std::vector<NodeId> nodes;
  /// By node of the merged problem.
  std::vector<NodeId> originals;
  std::vector<int32_t> bucketOfNode;
  std::vector<MergedBucket> buckets;
};

/// Returns an order of `to` that is like `order`, an order of `from`, which has
/// other buckets of the same problem: a merged start and its copy-in take the
/// places of the last of their members, a merged wait and its copy-out those of
/// the first. What both have in common keeps its place. The time of
/// completeOrder().
Order adaptOrder(const Order &order, const BucketedProblem &from,
                 const BucketedProblem &to);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_BUCKETING_BUCKETEDPROBLEM_H
