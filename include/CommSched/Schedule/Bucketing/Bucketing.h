//===- Bucketing.h - Buckets of collectives ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Forms buckets: sets of collectives that may be merged into one launch. Two
// starts may share a bucket if no path of dependences, which may lead through
// other buckets, makes one of them wait for the other. formBuckets() only
// decides; BucketedProblem builds the merged program.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_BUCKETING_BUCKETING_H
#define COMMSCHED_SCHEDULE_BUCKETING_BUCKETING_H

#include "CommSched/Schedule/Model/Problem.h"

#include <functional>
#include <limits>

namespace mlir::commsched::schedule {

/// A collective that may be merged with others.
struct BucketCandidate {
  /// The Start. A Blocking collective cannot be merged.
  NodeId start = noNode;
  /// Collectives with equal keys may share a bucket: 0, 1, ….
  int32_t key = 0;
  /// The larger of its input and output, in bytes.
  int64_t bytes = 0;
};

struct BucketingOptions {
  /// By key: the largest size in bytes of its first bucket, its second, …, in
  /// the order in which they are opened; the last entry stands for all further
  /// ones. No list is empty, all caps are positive.
  std::vector<std::vector<int64_t>> capBytes;
  /// The largest number of members, at least 1.
  int64_t maxCount = std::numeric_limits<int64_t>::max();
};

/// The reason for which a collective is in no bucket. One that opened a bucket
/// while there was none to join is judged by the first candidate that did not
/// join it.
enum class UnbucketedReason : uint8_t {
  /// It is in a bucket.
  None,
  /// No other candidate has its key, but for those that are over the cap.
  NoPartner,
  /// It is larger than the bucket that it would have opened may be.
  OverCap,
  /// No bucket that was open had the room for it; or its own had none.
  BucketFull,
  /// A path of dependences, which may lead through other buckets, joins it to
  /// every bucket with room for it; `other` is the member of the last of them
  /// that the path begins or ends at.
  Dependent,
};

/// The bucket of one candidate, or why it has none.
struct BucketAssignment {
  /// Index in Bucketing::buckets; -1: none.
  int32_t bucket = -1;
  UnbucketedReason reason = UnbucketedReason::None;
  NodeId other = noNode;
};

/// Two or more starts with one key.
struct Bucket {
  int32_t key = 0;
  /// Ascending.
  std::vector<NodeId> starts;
  /// The sum of the members' bytes.
  int64_t bytes = 0;
};

struct Bucketing {
  /// By first member.
  std::vector<Bucket> buckets;
  /// By candidate.
  std::vector<BucketAssignment> assignments;
};

/// Looks at the candidates in the given order. Each joins the first open bucket
/// of its key that has room for it and that it neither depends on nor leads to,
/// through whatever other buckets; one that finds none opens another, so that
/// of A, B (after A), C, D (after C) the buckets are {A, C} and {B, D}. Order
/// dependences between two members do not count.
///
/// A bucket is closed by the first candidate that it has no room for, unless
/// that is larger than its cap. To bound the number of searches, it is also
/// closed by the 16th candidate in a row that it refuses for a dependence, and
/// of 17 open buckets of one key the one that has refused most in a row, the
/// oldest of those, is closed.
///
/// A candidate is unbucketed if no other joined the bucket that it opened; the
/// cap of
/// that bucket is used up all the same. One that is larger than the cap of the
/// bucket that it would open is unbucketed, too: it uses up that cap if a later
/// one is large enough for it, and otherwise leaves it to the next.
///
/// Error: the problem has one; a candidate is not a Start, is named twice, has
/// a negative size, or its key has no cap; a cap or maxCount is not positive.
///
/// Legality is kept by an incremental topological order (ContractedGraph.h), so
/// a candidate costs what lies between it and its bucket, not the program.
Result<Bucketing> formBuckets(const Problem &problem,
                              const std::vector<BucketCandidate> &candidates,
                              const BucketingOptions &options);

/// The buffers of one merged collective.
struct BucketMemory {
  enum class Layout : uint8_t {
    /// Side by side, without copies: the members keep their result buffers,
    /// which the merged start allocates. The merged start and wait use the
    /// inputs of all members.
    Separate,
    /// The copy-in packs the inputs of the members. The merged start allocates
    /// one storage, of which the members' results are views: it is freed after
    /// the last use of any of them.
    Viewed,
    /// The copy-in allocates a buffer in which the collective works in place,
    /// and the copy-out allocates the results of the members.
    CopiedOut,
  };

  Layout layout = Layout::Separate;
  /// The size in bytes of the buffer that the copy-in allocates. The copy-in
  /// reads the inputs of the members; the last user of the buffer is the merged
  /// wait, or the copy-out if there is one.
  int64_t packedBytes = 0;
  /// Viewed: the size in bytes of the storage that the merged start allocates.
  int64_t deliveredBytes = 0;
};

/// The cost of one merged collective in nanoseconds, and its memory.
struct BucketCost {
  /// On the compute stream, directly before the merged start.
  int64_t copyInNs = 0;
  /// Of the merged collective.
  int64_t collectiveNs = 0;
  /// On the compute stream, directly after the merged wait.
  int64_t copyOutNs = 0;
  /// Operations that the copy-in absorbs, such as casts: their cost becomes 0.
  std::vector<NodeId> absorbed;
  BucketMemory memory = {};
};

/// Returns the cost of merging these starts.
using BucketCostFunction =
    std::function<BucketCost(const std::vector<NodeId> &starts)>;

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_BUCKETING_BUCKETING_H
