//===- LinkedOrder.h - An order that nodes are moved in ---------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An order as a linked list that can tell which of two nodes comes first
// without counting: every node has a label, and labels ascend. Where a search
// compares far more often than it moves, this is cheaper than an OrderTree,
// which knows positions but walks a tree for each.
//
// Labels are kept as in M. A. Bender et al., "Two Simplified Algorithms for
// Maintaining Order in a List" (ESA 2002): where no label is left between two
// neighbours, the smallest aligned range of labels around them that is not too
// dense for its size is spread out evenly.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_LINKEDORDER_H
#define COMMSCHED_SCHEDULE_LINKEDORDER_H

#include "CommSched/Schedule/Problem.h"

namespace mlir::commsched::schedule {

class LinkedOrder {
public:
  /// `order` has each of the nodes 0 … n-1 once. O(n).
  explicit LinkedOrder(const Order &order);

  /// Whether `a` comes before `b`; both are in the list. O(1).
  bool isBefore(NodeId a, NodeId b) const { return labels[a] < labels[b]; }

  /// Takes a node out of the list, to which it may come back. O(1).
  void erase(NodeId node);

  /// Puts a node that is not in the list next to one that is. O(log n)
  /// amortized.
  void insertAfter(NodeId node, NodeId place);
  void insertBefore(NodeId node, NodeId place);

  /// How many labels were replaced so far to make room.
  int64_t numReplaced() const { return replaced; }

  /// The nodes that are in the list. O(n).
  Order nodes() const;

private:
  struct Links {
    NodeId previous;
    NodeId next;
  };

  uint64_t endOfGap(NodeId place) const;
  void makeRoomAfter(NodeId place);

  /// Before the first node and after the last one, with the label 0.
  NodeId sentinel;
  std::vector<Links> links;
  std::vector<uint64_t> labels;
  int64_t replaced = 0;
};

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_LINKEDORDER_H
