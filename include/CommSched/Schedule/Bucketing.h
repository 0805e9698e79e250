//===- Bucketing.h - Which collectives travel together ----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Forms buckets: sets of collectives that may become one launch. Two starts may
// share a bucket if no path of dependences, which may lead through other
// buckets, makes one of them wait for the other. What is formed here is a
// decision only; see BucketedProblem.h for the program that follows from it.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_BUCKETING_H
#define COMMSCHED_SCHEDULE_BUCKETING_H

#include "CommSched/Schedule/Problem.h"

#include <limits>

namespace mlir::commsched::schedule {

/// A collective that may travel with others.
struct BucketCandidate {
  /// The Start. A Blocking collective cannot be merged.
  NodeId start = noNode;
  /// Collectives with equal keys may share a bucket: 0, 1, ….
  int32_t key = 0;
  /// The larger of what it sends and delivers.
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

/// Why a collective is in no bucket. One that opened a bucket while there was
/// none to join is judged by the first candidate that did not join it.
enum class AloneReason : uint8_t {
  /// It is not alone.
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
  /// A bucket with it would take overlap away (see
  /// OverlapPreservingBucketing.h); `other` is the nearest other member.
  LosesOverlap,
};

/// What became of one candidate.
struct CandidateFate {
  /// Index in Bucketing::buckets; -1: none.
  int32_t bucket = -1;
  AloneReason reason = AloneReason::None;
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
  std::vector<CandidateFate> fates;
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
/// A candidate is alone if nobody joined the bucket that it opened; the cap of
/// that bucket is used up all the same. One that is larger than the cap of the
/// bucket that it would open is alone, too: it uses up that cap if a later one
/// is large enough for it, and otherwise leaves it to the next.
///
/// Error: the problem has one; a candidate is not a Start, is named twice, has
/// a negative size, or its key has no cap; a cap or maxCount is not positive.
///
/// Legality is kept by an incremental topological order (ContractedGraph.h), so
/// a candidate costs what lies between it and its bucket, not the program.
Result<Bucketing> formBuckets(const Problem &problem,
                              const std::vector<BucketCandidate> &candidates,
                              const BucketingOptions &options);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_BUCKETING_H
