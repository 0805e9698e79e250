//===- ReferenceBucketPlacement.h - Reference of placement ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// BucketedProblem::place() literally by its rules, without caching, for
// comparison in tests. For programs that are a legal order.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_SCHEDULE_REFERENCEBUCKETPLACEMENT_H
#define COMMSCHED_UNITTESTS_SCHEDULE_REFERENCEBUCKETPLACEMENT_H

#include "CommSched/Schedule/Bucketing/BucketedProblem.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace mlir::commsched::schedule::testing {

class ReferenceBucketPlacement {
public:
  ReferenceBucketPlacement(const BucketedProblem &bucketed,
                           BucketPlacement placement)
      : bucketed(bucketed), problem(bucketed.getOriginal()),
        merged(bucketed.getProblem()), placement(std::move(placement)),
        tails(findTails()) {}

  Order run() {
    for (NodeId node = 0; node < merged.numNodes(); ++node)
      keys[node] = place(node);
    runReady();
    for (int32_t bucket : available)
      runWait(bucket);
    runReady();
    return order;
  }

  /// The largest set of nodes that are tails if the others of it are.
  std::set<NodeId> findTails() const {
    std::set<NodeId> found;
    for (NodeId node = 0; node < merged.numNodes(); ++node)
      found.insert(node);
    while (true) {
      std::set<NodeId> kept;
      for (NodeId node : found)
        if (isTailIf(node, found))
          kept.insert(node);
      if (kept == found)
        return found;
      found = kept;
    }
  }

private:
  /// Of a node whose inputs are lazy or such nodes themselves.
  bool needsUnconstrainedWait(NodeId node) const {
    for (DependenceEnd end : merged.predecessors(node)) {
      int32_t bucket = bucketed.bucketOf(end.node);
      bool isConstrained = false;
      for (auto [waited, started] : placement.waitAfterStart)
        isConstrained |= waited == bucket;
      if (isLazy(end.node) ? !isConstrained
                           : bucket < 0 && needsUnconstrainedWait(end.node))
        return true;
    }
    return false;
  }

  bool isTailIf(NodeId node, const std::set<NodeId> &others) const {
    if (bucketed.bucketOf(node) >= 0 || merged.predecessors(node).empty() ||
        merged.kind(node) == NodeKind::Blocking || merged.isExpensive(node))
      return false;
    for (DependenceEnd end : merged.predecessors(node))
      if (end.kind == DependenceKind::Barrier ||
          !(isLazy(end.node) || others.count(end.node)))
        return false;
    for (DependenceEnd end : merged.successors(node))
      if (end.kind == DependenceKind::Barrier || !others.count(end.node))
        return false;
    return merged.kind(node) != NodeKind::Start ||
           !needsUnconstrainedWait(node);
  }

  //===--------------------------------------------------------------------===//
  // Places.
  //===--------------------------------------------------------------------===//

  bool isCheap(NodeId node) const {
    if (int32_t bucket = bucketed.bucketOf(node); bucket >= 0)
      return node == bucketed.bucket(bucket).copyIn;
    for (ArrayView<DependenceEnd> ends :
         {merged.predecessors(node), merged.successors(node)})
      for (DependenceEnd end : ends)
        if (end.kind == DependenceKind::Barrier)
          return false;
    return merged.kind(node) == NodeKind::Compute && !merged.isExpensive(node);
  }

  bool isLazy(NodeId node) const {
    int32_t bucket = bucketed.bucketOf(node);
    return bucket >= 0 && (node == bucketed.waitOf(bucket) ||
                           node == bucketed.bucket(bucket).copyOut);
  }

  /// What is cheap and leads to `node`, or follows on it, with `node`.
  std::set<NodeId> findCheap(NodeId node, bool isBefore) const {
    std::set<NodeId> found = {node};
    std::vector<NodeId> open = {node};
    while (!open.empty()) {
      NodeId next = open.back();
      open.pop_back();
      for (DependenceEnd end :
           isBefore ? problem.predecessors(next) : problem.successors(next))
        if (isCheap(bucketed.nodeOf(end.node)) && found.insert(end.node).second)
          open.push_back(end.node);
    }
    return found;
  }
  std::set<NodeId> cheapAncestors(NodeId user) const {
    return findCheap(user, /*isBefore=*/true);
  }
  std::set<NodeId> cheapDescendants(NodeId node) const {
    return findCheap(node, /*isBefore=*/false);
  }

  /// Where a node is that is not cheap.
  NodeId placeOfFixed(NodeId node) {
    int32_t bucket = bucketed.bucketOf(node);
    if (bucket < 0)
      return bucketed.originalOf(node);
    const BucketedProblem::MergedBucket &parts = bucketed.bucket(bucket);
    if (isLazy(node))
      return *std::min_element(parts.waits.begin(), parts.waits.end());
    return placeOfStart(bucket);
  }

  NodeId placeOfStart(int32_t bucket) {
    if (auto known = startPlaces.find(bucket); known != startPlaces.end())
      return known->second;
    const std::vector<NodeId> &starts = bucketed.bucket(bucket).starts;
    NodeId place = *std::min_element(starts.begin(), starts.end());
    for (NodeId start : starts)
      for (NodeId user : cheapAncestors(start))
        for (DependenceEnd end : problem.predecessors(user)) {
          NodeId node = bucketed.nodeOf(end.node);
          if (isCheap(node) || node == bucketed.startOf(bucket))
            continue;
          place = std::max(place, isLazy(node) ? user : placeOfFixed(node));
        }
    return startPlaces[bucket] = place;
  }

  NodeId place(NodeId node) {
    if (int32_t bucket = bucketed.bucketOf(node); bucket >= 0)
      return isLazy(node) ? placeOfFixed(node) : placeOfStart(bucket);
    if (!isCheap(node))
      return placeOfFixed(node);
    NodeId original = bucketed.originalOf(node);
    NodeId result = original;
    for (int32_t bucket = 0; bucket < bucketed.numBuckets(); ++bucket)
      for (NodeId start : bucketed.bucket(bucket).starts)
        if (cheapAncestors(start).count(original))
          result = std::min(result, placeOfStart(bucket));
    NodeId limit = problem.numNodes();
    for (NodeId descendant : cheapDescendants(original))
      for (DependenceEnd end : problem.successors(descendant))
        if (NodeId user = bucketed.nodeOf(end.node); !isCheap(user))
          limit = std::min(limit, placeOfFixed(user));
    for (int32_t bucket = 0; bucket < bucketed.numBuckets(); ++bucket) {
      const std::vector<NodeId> &waits = bucketed.bucket(bucket).waits;
      NodeId last = *std::max_element(waits.begin(), waits.end());
      for (NodeId start : bucketed.bucket(bucket).starts)
        if (start < placeOfStart(bucket) &&
            cheapDescendants(problem.waitOf(start)).count(original))
          result = std::max(result, std::min(last, limit));
    }
    return result;
  }

  //===--------------------------------------------------------------------===//
  // The order.
  //===--------------------------------------------------------------------===//

  bool hasRun(NodeId node) const {
    return std::find(order.begin(), order.end(), node) != order.end();
  }

  bool isAvailable(int32_t bucket) const {
    return std::find(available.begin(), available.end(), bucket) !=
           available.end();
  }

  bool isReady(NodeId node) const {
    for (DependenceEnd end : merged.predecessors(node))
      if (!hasRun(end.node) && (tails.count(node) || !isLazy(end.node) ||
                                !isAvailable(bucketed.bucketOf(end.node))))
        return false;
    return true;
  }

  void runReady() {
    while (true) {
      NodeId node = best();
      if (node == noNode)
        break;
      take(node);
    }
  }

  /// Runs the first tail that can and is no wait, again and again.
  void runTails() {
    for (auto it = tails.begin(); it != tails.end();) {
      NodeId tail = *it++;
      if (merged.kind(tail) == NodeKind::Wait || hasRun(tail) || !isReady(tail))
        continue;
      order.push_back(tail);
      it = tails.begin();
    }
  }

  NodeId best() const {
    NodeId result = noNode;
    auto rank = [&](NodeId node) {
      return std::tuple(-haste.at(node), keys.at(node), node);
    };
    for (NodeId node = 0; node < merged.numNodes(); ++node) {
      haste.try_emplace(node, 0);
      if (hasRun(node) || !isReady(node) || (isLazy(node) && haste[node] == 0))
        continue;
      if (result == noNode || rank(node) < rank(result))
        result = node;
    }
    return result;
  }

  /// Whether all that `node` needs and has not run is cheap.
  bool canStart(NodeId node) const {
    for (DependenceEnd end : merged.predecessors(node))
      if (!hasRun(end.node) && (!isCheap(end.node) || !canStart(end.node)))
        return false;
    return true;
  }

  void hastenAll(NodeId node) {
    haste[node] = 2;
    for (DependenceEnd end : merged.predecessors(node))
      if (!hasRun(end.node))
        hastenAll(end.node);
  }

  void findNeeded(NodeId node, std::set<int32_t> &needed) const {
    for (DependenceEnd end : merged.predecessors(node)) {
      if (hasRun(end.node) || !isLazy(end.node))
        continue;
      needed.insert(bucketed.bucketOf(end.node));
      findNeeded(bucketed.waitOf(bucketed.bucketOf(end.node)), needed);
    }
  }

  void take(NodeId node) {
    std::set<int32_t> needed;
    findNeeded(node, needed);
    if (isLazy(node))
      needed.insert(bucketed.bucketOf(node));
    bool isHeld = false;
    for (auto [waited, started] : placement.startBeforeWait) {
      NodeId start = bucketed.startOf(started);
      if (!needed.count(waited) || hasRun(start) || !canStart(start))
        continue;
      hastenAll(start);
      isHeld = true;
    }
    if (isHeld)
      return;
    for (int32_t bucket : available)
      if (needed.count(bucket))
        runWait(bucket);
    // A tail may be first now.
    if (hasRun(node) || best() != node)
      return;
    runNode(node);
    for (auto [waited, started] : placement.waitAfterStart)
      if (node == bucketed.startOf(started) && isAvailable(waited))
        haste[bucketed.waitOf(waited)] = 1;
  }

  void runWait(int32_t bucket) {
    if (hasRun(bucketed.waitOf(bucket)))
      return;
    order.push_back(bucketed.waitOf(bucket));
    if (NodeId copyOut = bucketed.bucket(bucket).copyOut; copyOut != noNode)
      order.push_back(copyOut);
    runTails();
  }

  void runNode(NodeId node) {
    order.push_back(node);
    runTails();
    int32_t next = 0;
    while (next < bucketed.numBuckets())
      if (!isAvailable(next) && isReady(bucketed.waitOf(next))) {
        available.push_back(next);
        next = 0;
      } else {
        ++next;
      }
  }

  const BucketedProblem &bucketed;
  const Problem &problem;
  const Problem &merged;
  BucketPlacement placement;
  std::set<NodeId> tails;
  std::map<int32_t, NodeId> startPlaces;
  std::map<NodeId, NodeId> keys;
  mutable std::map<NodeId, int> haste;
  std::vector<int32_t> available;
  Order order;
};

} // namespace mlir::commsched::schedule::testing

#endif // COMMSCHED_UNITTESTS_SCHEDULE_REFERENCEBUCKETPLACEMENT_H
