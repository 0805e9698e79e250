//===- OrderTree.h - Order-statistics tree with summaries -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A balanced tree over the positions of an order. It finds the position of an
// operation, the operation at a position, a summary of any stretch of
// consecutive operations, and the nearest operation with a property, and
// exchanges two adjacent stretches of any length, each in O(log n) on average.
//
// It is a treap (R. Seidel and C. R. Aragon, "Randomized Search Trees",
// Algorithmica 16, 1996) whose keys are the positions themselves, and whose
// priorities are a fixed hash of the operation: the same calls give the same
// tree everywhere.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_MODEL_ORDERTREE_H
#define COMMSCHED_LIB_SCHEDULE_MODEL_ORDERTREE_H

#include "CommSched/Schedule/Model/Problem.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace mlir::commsched::schedule {

/// `Summary` describes a stretch of the order: default-constructed, the empty
/// one; constructed from a `Leaf`, one operation; and `a.then(b)` is the
/// summary of stretch a followed by b. `then` has to be associative.
template <typename Leaf, typename Summary> class OrderTree {
public:
  OrderTree() = default;
  /// `order` has each of the nodes 0 … n-1 once; `leaves` is by node. O(n).
  OrderTree(const Order &order, std::vector<Leaf> leaves)
      : leaves(std::move(leaves)), links(order.size()),
        summaries(order.size()) {
    build(order);
  }

  int32_t size() const { return count(root); }

  /// Returns the position of `node`, counted from 0.
  int32_t position(NodeId node) const {
    int32_t before = count(links[node].left);
    for (NodeId child = node, up = links[node].parent; up != noNode;
         child = up, up = links[up].parent)
      if (links[up].right == child)
        before += count(links[up].left) + 1;
    return before;
  }

  /// Returns the operation at `position`, which is in [0, size()).
  NodeId at(int32_t position) const {
    NodeId node = root;
    while (true) {
      int32_t left = count(links[node].left);
      if (position == left)
        return node;
      if (position < left) {
        node = links[node].left;
      } else {
        position -= left + 1;
        node = links[node].right;
      }
    }
  }

  const Leaf &leaf(NodeId node) const { return leaves[node]; }

  /// Changes what `node` contributes to summaries.
  void setLeaf(NodeId node, const Leaf &leaf) {
    leaves[node] = leaf;
    for (; node != noNode; node = links[node].parent)
      summarize(node);
  }

  /// The summary of everything before `node`.
  Summary before(NodeId node) const {
    Summary result = summary(links[node].left);
    for (NodeId child = node, up = links[node].parent; up != noNode;
         child = up, up = links[up].parent)
      if (links[up].right == child)
        result = summary(links[up].left).then(Summary(leaves[up])).then(result);
    return result;
  }

  /// The summary of the whole order.
  Summary total() const { return summary(root); }

  /// The summary of the positions [first, end).
  Summary range(int32_t first, int32_t end) const {
    return rangeOf(root, first, end);
  }

  /// Returns the last position in [first, end) for which `has(before, stretch)`
  /// holds, or -1. `before` is the summary of all operations before the
  /// stretch. For a stretch of one operation the predicate decides; for a
  /// longer one it returns whether it may hold for any operation of it.
  template <typename Predicate>
  int32_t findLast(int32_t first, int32_t end, Predicate has) const {
    return findLastIn(root, Summary(), 0, first, end, has);
  }

  /// Returns the first position in [first, end) for which `has` holds, or -1.
  template <typename Predicate>
  int32_t findFirst(int32_t first, int32_t end, Predicate has) const {
    return findFirstIn(root, Summary(), 0, first, end, has);
  }

  /// Exchanges the stretches [first, middle) and [middle, end).
  void exchange(int32_t first, int32_t middle, int32_t end) {
    auto [rest, tail] = split(root, end);
    auto [head, back] = split(rest, middle);
    auto [start, front] = split(head, first);
    root = merge(merge(start, back), merge(front, tail));
    if (root != noNode)
      links[root].parent = noNode;
  }

  /// Returns the order. O(n).
  Order order() const {
    Order result;
    result.reserve(links.size());
    std::vector<NodeId> path;
    for (NodeId node = root; node != noNode || !path.empty();) {
      for (; node != noNode; node = links[node].left)
        path.push_back(node);
      node = path.back();
      path.pop_back();
      result.push_back(node);
      node = links[node].right;
    }
    return result;
  }

private:
  struct Links {
    NodeId left = noNode;
    NodeId right = noNode;
    NodeId parent = noNode;
    int32_t count = 1;
  };

  /// SplitMix64 (G. L. Steele, D. Lea and C. H. Flood, OOPSLA 2014).
  static uint64_t priority(NodeId node) {
    uint64_t z =
        (static_cast<uint64_t>(node) + 1) * uint64_t(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * uint64_t(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * uint64_t(0x94d049bb133111eb);
    return z ^ (z >> 31);
  }

  int32_t count(NodeId node) const {
    return node == noNode ? 0 : links[node].count;
  }
  Summary summary(NodeId node) const {
    return node == noNode ? Summary() : summaries[node];
  }

  void summarize(NodeId node) {
    const Links &link = links[node];
    summaries[node] = summary(link.left)
                          .then(Summary(leaves[node]))
                          .then(summary(link.right));
  }

  /// Updates the summary of `node` and the parent links of its children.
  void adopt(NodeId node) {
    Links &link = links[node];
    link.count = count(link.left) + 1 + count(link.right);
    if (link.left != noNode)
      links[link.left].parent = node;
    if (link.right != noNode)
      links[link.right].parent = node;
    summarize(node);
  }

  /// Appends one operation after the other. `spine` is the path to the last.
  void build(const Order &order) {
    std::vector<NodeId> spine;
    auto finishLast = [&] {
      NodeId last = spine.back();
      spine.pop_back();
      adopt(last);
      return last;
    };
    for (NodeId node : order) {
      NodeId below = noNode;
      while (!spine.empty() && priority(spine.back()) < priority(node))
        below = finishLast();
      links[node].left = below;
      if (!spine.empty())
        links[spine.back()].right = node;
      spine.push_back(node);
    }
    while (!spine.empty())
      root = finishLast();
  }

  Summary rangeOf(NodeId node, int32_t first, int32_t end) const {
    if (node == noNode || first >= end)
      return {};
    if (first <= 0 && end >= count(node))
      return summaries[node];
    int32_t left = count(links[node].left);
    Summary result = rangeOf(links[node].left, first, std::min(end, left));
    if (first <= left && left < end)
      result = result.then(Summary(leaves[node]));
    return result.then(rangeOf(links[node].right, std::max(first - left - 1, 0),
                               end - left - 1));
  }

  /// `before` and `offset`: the summary and the number of the operations before
  /// the subtree.
  template <typename Predicate>
  int32_t findLastIn(NodeId node, const Summary &before, int32_t offset,
                     int32_t first, int32_t end, Predicate &has) const {
    if (node == noNode || offset >= end || offset + count(node) <= first ||
        !has(before, summaries[node]))
      return -1;
    const Links &link = links[node];
    int32_t position = offset + count(link.left);
    Summary own(leaves[node]);
    Summary atNode = before.then(summary(link.left));
    int32_t found =
        findLastIn(link.right, atNode.then(own), position + 1, first, end, has);
    if (found >= 0)
      return found;
    if (first <= position && position < end && has(atNode, own))
      return position;
    return findLastIn(link.left, before, offset, first, end, has);
  }

  template <typename Predicate>
  int32_t findFirstIn(NodeId node, const Summary &before, int32_t offset,
                      int32_t first, int32_t end, Predicate &has) const {
    if (node == noNode || offset >= end || offset + count(node) <= first ||
        !has(before, summaries[node]))
      return -1;
    const Links &link = links[node];
    int32_t found = findFirstIn(link.left, before, offset, first, end, has);
    if (found >= 0)
      return found;
    int32_t position = offset + count(link.left);
    Summary own(leaves[node]);
    Summary atNode = before.then(summary(link.left));
    if (first <= position && position < end && has(atNode, own))
      return position;
    return findFirstIn(link.right, atNode.then(own), position + 1, first, end,
                       has);
  }

  /// Splits a subtree into its first `length` operations and the others.
  std::pair<NodeId, NodeId> split(NodeId node, int32_t length) {
    if (node == noNode)
      return {noNode, noNode};
    int32_t left = count(links[node].left);
    if (length <= left) {
      auto [front, back] = split(links[node].left, length);
      links[node].left = back;
      adopt(node);
      return {front, node};
    }
    auto [front, back] = split(links[node].right, length - left - 1);
    links[node].right = front;
    adopt(node);
    return {node, back};
  }

  NodeId merge(NodeId front, NodeId back) {
    if (front == noNode)
      return back;
    if (back == noNode)
      return front;
    NodeId top = front;
    if (priority(front) > priority(back)) {
      links[front].right = merge(links[front].right, back);
    } else {
      top = back;
      links[back].left = merge(front, links[back].left);
    }
    adopt(top);
    return top;
  }

  std::vector<Leaf> leaves;
  std::vector<Links> links;
  std::vector<Summary> summaries;
  NodeId root = noNode;
};

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_MODEL_ORDERTREE_H
