//===- BucketKeys.cpp - Where a merged program wants its nodes ------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BucketKeys.h"

#include <algorithm>
#include <numeric>

using namespace commsched;

static bool isBarrier(const Problem &problem, NodeId node) {
  auto isBarrierEnd = [](DependenceEnd end) {
    return end.kind == DependenceKind::Barrier;
  };
  ArrayView<DependenceEnd> before = problem.predecessors(node);
  ArrayView<DependenceEnd> after = problem.successors(node);
  return std::any_of(before.begin(), before.end(), isBarrierEnd) ||
         std::any_of(after.begin(), after.end(), isBarrierEnd);
}

std::vector<bool> commsched::findCheapNodes(const BucketedProblem &bucketed) {
  const Problem &problem = bucketed.getProblem();
  std::vector<bool> isCheap(problem.numNodes());
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    int32_t bucket = bucketed.bucketOf(node);
    if (bucket >= 0)
      isCheap[node] = node == bucketed.bucket(bucket).copyIn;
    else
      isCheap[node] = problem.kind(node) == NodeKind::Compute &&
                      !problem.isExpensive(node) && !isBarrier(problem, node);
  }
  return isCheap;
}

namespace {

class KeyFinder {
public:
  KeyFinder(const BucketedProblem &bucketed, const std::vector<bool> &isCheap);
  std::vector<NodeId> find();

private:
  using MergedBucket = BucketedProblem::MergedBucket;

  bool isMergedWait(NodeId original) const;
  NodeId earliest(NodeId user) const;
  void placeStart(int32_t bucket);
  void raise(NodeId user, NodeId key);

  const BucketedProblem &bucketed;
  const Problem &problem;
  const Problem &merged;
  const std::vector<bool> &isCheap;
  std::vector<NodeId> keys;
  /// By node of the merged program, for cheap ones: the place of the last that
  /// it needs and that has to stay; -1: nothing has.
  std::vector<NodeId> bounds;
};

} // namespace

KeyFinder::KeyFinder(const BucketedProblem &bucketed,
                     const std::vector<bool> &isCheap)
    : bucketed(bucketed), problem(bucketed.getOriginal()),
      merged(bucketed.getProblem()), isCheap(isCheap), keys(merged.numNodes()),
      bounds(merged.numNodes(), -1) {}

bool KeyFinder::isMergedWait(NodeId original) const {
  return problem.kind(original) == NodeKind::Wait &&
         bucketed.bucketOf(bucketed.nodeOf(original)) >= 0;
}

/// How early a node of the original program could run if what is cheap came up.
NodeId KeyFinder::earliest(NodeId user) const {
  NodeId bound = -1;
  NodeId self = bucketed.nodeOf(user);
  for (DependenceEnd end : problem.predecessors(user)) {
    NodeId node = bucketed.nodeOf(end.node);
    if (node == self)
      continue;
    // A merged wait has no place: it is where it is needed. So whoever needs it
    // stays, that it is not needed earlier.
    if (isMergedWait(end.node))
      bound = std::max(bound, user);
    else
      bound = std::max(bound, isCheap[node] ? bounds[node] : keys[node]);
  }
  return bound;
}

void KeyFinder::placeStart(int32_t index) {
  const MergedBucket &bucket = bucketed.bucket(index);
  NodeId key = *std::min_element(bucket.starts.begin(), bucket.starts.end());
  for (NodeId start : bucket.starts)
    key = std::max(key, earliest(start));
  keys[bucket.start] = key;
  if (bucket.copyIn != noNode)
    keys[bucket.copyIn] = key;
}

/// Gives what `user`, a node of the original program, needs at least the place
/// `key`.
void KeyFinder::raise(NodeId user, NodeId key) {
  std::vector<NodeId> open = {user};
  while (!open.empty()) {
    NodeId next = open.back();
    open.pop_back();
    for (DependenceEnd end : problem.predecessors(next)) {
      NodeId node = bucketed.nodeOf(end.node);
      if (bucketed.bucketOf(node) >= 0 || keys[node] <= key)
        continue;
      keys[node] = key;
      open.push_back(end.node);
    }
  }
}

std::vector<NodeId> KeyFinder::find() {
  for (NodeId node = 0; node < merged.numNodes(); ++node)
    if (bucketed.bucketOf(node) < 0)
      keys[node] = bucketed.originalOf(node);
  for (int32_t index = 0; index < bucketed.numBuckets(); ++index) {
    const MergedBucket &bucket = bucketed.bucket(index);
    keys[bucket.wait] =
        *std::min_element(bucket.waits.begin(), bucket.waits.end());
    if (bucket.copyOut != noNode)
      keys[bucket.copyOut] = keys[bucket.wait];
  }
  for (NodeId node : merged.topologicalOrder()) {
    int32_t bucket = bucketed.bucketOf(node);
    if (bucket >= 0 && node == bucketed.startOf(bucket))
      placeStart(bucket);
    else if (bucket < 0 && isCheap[node])
      bounds[node] = earliest(bucketed.originalOf(node));
  }

  // Earlier starts first: what one has raised, with all that it needs, is early
  // enough for the next, and is not looked at again.
  std::vector<int32_t> buckets(bucketed.numBuckets());
  std::iota(buckets.begin(), buckets.end(), 0);
  std::sort(buckets.begin(), buckets.end(), [&](int32_t a, int32_t b) {
    NodeId keyA = keys[bucketed.startOf(a)], keyB = keys[bucketed.startOf(b)];
    return keyA != keyB ? keyA < keyB : a < b;
  });
  for (int32_t index : buckets) {
    const MergedBucket &bucket = bucketed.bucket(index);
    for (NodeId start : bucket.starts)
      raise(start, keys[bucket.start]);
  }
  return std::move(keys);
}

std::vector<NodeId>
commsched::computeBucketKeys(const BucketedProblem &bucketed,
                             const std::vector<bool> &isCheap) {
  return KeyFinder(bucketed, isCheap).find();
}
