//===- ReferenceBucketing.h - Reference of bucketing ------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// formBuckets() literally by its contract: tries every candidate with every
// open bucket by merging the two and searching the whole program for a cycle.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_SCHEDULE_REFERENCEBUCKETING_H
#define COMMSCHED_UNITTESTS_SCHEDULE_REFERENCEBUCKETING_H

#include "CommSched/Schedule/Bucketing/Bucketing.h"

#include "ReferenceContraction.h"

namespace mlir::commsched::schedule::testing {

/// The buckets, and by candidate the reason why it is alone and, of those that
/// are Dependent, whom it may depend on.
struct ReferenceBucketing {
  std::vector<std::vector<NodeId>> buckets;
  std::vector<UnbucketedReason> reasons;
  std::vector<std::vector<NodeId>> others;
};

inline ReferenceBucketing
formBucketsSlowly(const Problem &problem,
                  const std::vector<BucketCandidate> &candidates,
                  const BucketingOptions &options) {
  struct Forming {
    int32_t key;
    int64_t cap;
    int64_t bytes;
    std::vector<size_t> members;
    int refusals = 0;
    bool isOpen = true;
  };
  ReferenceBucketing result;
  result.reasons.resize(candidates.size());
  result.others.resize(candidates.size());
  ReferenceContraction graph(problem);
  std::vector<Forming> all;
  std::vector<size_t> numOpened(options.capBytes.size());

  auto tell = [&](size_t index, UnbucketedReason reason) {
    if (result.reasons[index] == UnbucketedReason::None)
      result.reasons[index] = reason;
  };
  auto joins = [&](Forming &bucket, size_t index) {
    int64_t bytes = candidates[index].bytes;
    if (!bucket.isOpen || bucket.key != candidates[index].key ||
        bytes > bucket.cap)
      return false;
    if (bucket.bytes + bytes > bucket.cap ||
        static_cast<int64_t>(bucket.members.size()) == options.maxCount) {
      bucket.isOpen = false;
      tell(index, UnbucketedReason::BucketFull);
      tell(bucket.members[0], UnbucketedReason::BucketFull);
      return false;
    }
    NodeId start = candidates[index].start;
    NodeId member = candidates[bucket.members[0]].start;
    ReferenceContraction merged = graph;
    merged.merge(member, start);
    merged.merge(problem.waitOf(member), problem.waitOf(start));
    if (merged.hasCycle()) {
      bucket.isOpen = ++bucket.refusals < 16;
      result.reasons[index] = UnbucketedReason::Dependent;
      result.others[index].clear();
      for (size_t other : bucket.members)
        result.others[index].push_back(candidates[other].start);
      if (result.reasons[bucket.members[0]] == UnbucketedReason::None)
        result.others[bucket.members[0]] = {start};
      tell(bucket.members[0], UnbucketedReason::Dependent);
      return false;
    }
    graph = merged;
    bucket.bytes += bytes;
    bucket.refusals = 0;
    bucket.members.push_back(index);
    return true;
  };

  for (size_t index = 0; index < candidates.size(); ++index) {
    auto [start, key, bytes] = candidates[index];
    bool hasJoined = false;
    for (size_t i = 0; i < all.size() && !hasJoined; ++i)
      hasJoined = joins(all[i], index);
    if (hasJoined)
      continue;
    const std::vector<int64_t> &caps = options.capBytes[key];
    auto capOf = [&](size_t i) { return caps[std::min(i, caps.size() - 1)]; };
    int64_t cap = capOf(numOpened[key]);
    if (bytes > cap) {
      tell(index, UnbucketedReason::OverCap);
      for (size_t i = numOpened[key]; i < caps.size(); ++i)
        if (bytes <= caps[i]) {
          ++numOpened[key];
          break;
        }
      continue;
    }
    ++numOpened[key];
    Forming *mostRefusals = nullptr;
    int numOpen = 0;
    for (Forming &bucket : all)
      if (bucket.isOpen && bucket.key == key) {
        ++numOpen;
        if (!mostRefusals || bucket.refusals > mostRefusals->refusals)
          mostRefusals = &bucket;
      }
    if (numOpen == 16)
      mostRefusals->isOpen = false;
    all.push_back({key, cap, bytes, {index}});
  }

  for (const Forming &bucket : all)
    if (bucket.members.size() == 1) {
      auto isPartner = [&](const Forming &other) {
        return &other != &bucket && other.key == bucket.key;
      };
      tell(bucket.members[0], std::any_of(all.begin(), all.end(), isPartner)
                                  ? UnbucketedReason::BucketFull
                                  : UnbucketedReason::NoPartner);
    } else {
      result.buckets.emplace_back();
      for (size_t member : bucket.members) {
        result.buckets.back().push_back(candidates[member].start);
        result.reasons[member] = UnbucketedReason::None;
      }
      std::sort(result.buckets.back().begin(), result.buckets.back().end());
    }
  std::sort(result.buckets.begin(), result.buckets.end());
  return result;
}

} // namespace mlir::commsched::schedule::testing

#endif // COMMSCHED_UNITTESTS_SCHEDULE_REFERENCEBUCKETING_H
