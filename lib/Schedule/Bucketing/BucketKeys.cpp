//===- BucketKeys.cpp - Sort keys of merged operations --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BucketKeys.h"

#include "../Model/SortBy.h"

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

static bool isBarrier(const Problem &problem, NodeId node) {
  auto isBarrierEnd = [](DependenceEnd end) {
    return end.kind == DependenceKind::Barrier;
  };
  ArrayView<DependenceEnd> before = problem.predecessors(node);
  ArrayView<DependenceEnd> after = problem.successors(node);
  return std::any_of(before.begin(), before.end(), isBarrierEnd) ||
         std::any_of(after.begin(), after.end(), isBarrierEnd);
}

std::vector<bool> schedule::findCheapNodes(const BucketedProblem &bucketed) {
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

bool schedule::isLazy(const BucketedProblem &bucketed, NodeId node) {
  int32_t bucket = bucketed.bucketOf(node);
  return bucket >= 0 && (node == bucketed.waitOf(bucket) ||
                         node == bucketed.bucket(bucket).copyOut);
}

/// By node: whether it needs, if it is a tail, a merged wait that no constraint
/// places.
static std::vector<bool> findUnconstrained(const BucketedProblem &bucketed,
                                           const BucketPlacement &placement) {
  std::vector<bool> isConstrained(bucketed.numBuckets());
  for (auto [waited, started] : placement.waitAfterStart)
    isConstrained[waited] = true;
  const Problem &problem = bucketed.getProblem();
  std::vector<bool> isUnconstrained(problem.numNodes());
  for (NodeId node : problem.topologicalOrder()) {
    if (bucketed.bucketOf(node) >= 0)
      continue;
    for (DependenceEnd end : problem.predecessors(node))
      if (isLazy(bucketed, end.node)
              ? !isConstrained[bucketed.bucketOf(end.node)]
              : isUnconstrained[end.node])
        isUnconstrained[node] = true;
  }
  return isUnconstrained;
}

std::vector<bool> schedule::findTails(const BucketedProblem &bucketed,
                                      const std::vector<bool> &isCheap,
                                      const BucketPlacement &placement) {
  const Problem &problem = bucketed.getProblem();
  std::vector<bool> isUnconstrained = findUnconstrained(bucketed, placement);
  auto couldBeTail = [&](NodeId node) {
    if (bucketed.bucketOf(node) >= 0 || problem.predecessors(node).empty())
      return false;
    bool isAsync = problem.kind(node) == NodeKind::Start ||
                   problem.kind(node) == NodeKind::Wait;
    // A collective that is not put off on purpose runs while others do.
    if (problem.kind(node) == NodeKind::Start && isUnconstrained[node])
      return false;
    return isCheap[node] || (isAsync && !isBarrier(problem, node));
  };
  std::vector<bool> isTail(problem.numNodes());
  std::vector<NodeId> open;
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    isTail[node] = couldBeTail(node);
    if (!isTail[node])
      open.push_back(node);
  }
  // The neighbours of a node that is no tail are no tails either, except for
  // successors of a wait.
  auto exclude = [&](NodeId node) {
    if (!isTail[node])
      return;
    isTail[node] = false;
    open.push_back(node);
  };
  while (!open.empty()) {
    NodeId node = open.back();
    open.pop_back();
    for (DependenceEnd end : problem.predecessors(node))
      exclude(end.node);
    if (isLazy(bucketed, node))
      continue;
    for (DependenceEnd end : problem.successors(node))
      exclude(end.node);
  }
  return isTail;
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
  NodeId latest(NodeId node) const;
  void placeStart(int32_t bucket);
  void setOwnKeys();
  void findBounds();
  void raise(NodeId user, NodeId key);
  void raiseInputs();
  void sink(NodeId wait, NodeId key);
  void sinkUsers();

  const BucketedProblem &bucketed;
  const Problem &problem;
  const Problem &merged;
  const std::vector<bool> &isCheap;
  std::vector<NodeId> keys;
  /// By node of the merged program, for cheap ones: the place of the last that
  /// it needs and that has to stay; -1: nothing has.
  std::vector<NodeId> bounds;
  /// The same downwards: the place of the first that needs it and has to stay.
  std::vector<NodeId> limits;
  std::vector<bool> isSunk;
};

} // namespace

KeyFinder::KeyFinder(const BucketedProblem &bucketed,
                     const std::vector<bool> &isCheap)
    : bucketed(bucketed), problem(bucketed.getOriginal()),
      merged(bucketed.getProblem()), isCheap(isCheap), keys(merged.numNodes()),
      bounds(merged.numNodes(), -1),
      limits(merged.numNodes(), problem.numNodes()), isSunk(merged.numNodes()) {
}

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
    // A merged wait has no place of its own but runs where it is needed. So its
    // users stay, or it would be needed earlier.
    if (isMergedWait(end.node))
      bound = std::max(bound, user);
    else
      bound = std::max(bound, isCheap[node] ? bounds[node] : keys[node]);
  }
  return bound;
}

/// How late a node of the original program could run if what is cheap went
/// down.
NodeId KeyFinder::latest(NodeId node) const {
  NodeId limit = problem.numNodes();
  for (DependenceEnd end : problem.successors(node)) {
    NodeId user = bucketed.nodeOf(end.node);
    limit = std::min(limit, isCheap[user] ? limits[user] : keys[user]);
  }
  return limit;
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

void KeyFinder::setOwnKeys() {
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
}

void KeyFinder::findBounds() {
  const Order &topological = merged.topologicalOrder();
  for (NodeId node : topological) {
    int32_t bucket = bucketed.bucketOf(node);
    if (bucket >= 0 && node == bucketed.startOf(bucket))
      placeStart(bucket);
    else if (bucket < 0 && isCheap[node])
      bounds[node] = earliest(bucketed.originalOf(node));
  }
  for (auto node = topological.rbegin(); node != topological.rend(); ++node)
    if (bucketed.bucketOf(*node) < 0 && isCheap[*node])
      limits[*node] = latest(bucketed.originalOf(*node));
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

void KeyFinder::raiseInputs() {
  // Earlier starts first: what one has raised, with all that it needs, is early
  // enough for the next, and is not looked at again.
  auto keyOf = [&](int32_t bucket) { return keys[bucketed.startOf(bucket)]; };
  for (int32_t index : sortBy(bucketed.numBuckets(), keyOf))
    for (NodeId start : bucketed.bucket(index).starts)
      raise(start, keyOf(index));
}

/// Gives what is cheap and needs `wait` at most the place `key`, unless it has
/// to be earlier.
void KeyFinder::sink(NodeId wait, NodeId key) {
  std::vector<NodeId> open = {wait};
  while (!open.empty()) {
    NodeId next = open.back();
    open.pop_back();
    for (DependenceEnd end : problem.successors(next)) {
      NodeId node = bucketed.nodeOf(end.node);
      if (!isCheap[node] || isSunk[node])
        continue;
      isSunk[node] = true;
      keys[node] = std::max(keys[node], std::min(key, limits[node]));
      open.push_back(end.node);
    }
  }
}

void KeyFinder::sinkUsers() {
  std::vector<NodeId> lastWaits;
  for (int32_t index = 0; index < bucketed.numBuckets(); ++index) {
    const std::vector<NodeId> &waits = bucketed.bucket(index).waits;
    lastWaits.push_back(*std::max_element(waits.begin(), waits.end()));
  }
  // Later ones first: no other can put what has sunk further down.
  auto keyOf = [&](int32_t bucket) { return -lastWaits[bucket]; };
  for (int32_t index : sortBy(bucketed.numBuckets(), keyOf))
    for (NodeId start : bucketed.bucket(index).starts)
      if (start < keys[bucketed.startOf(index)])
        sink(problem.waitOf(start), lastWaits[index]);
}

std::vector<NodeId> KeyFinder::find() {
  setOwnKeys();
  findBounds();
  raiseInputs();
  sinkUsers();
  return std::move(keys);
}

std::vector<NodeId>
schedule::computeBucketKeys(const BucketedProblem &bucketed,
                            const std::vector<bool> &isCheap) {
  return KeyFinder(bucketed, isCheap).find();
}
