//===- EditableSchedule.h - Orders with incremental memory ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An order whose operations can be moved, with its live bytes, last uses and
// computation times: the incremental form of simulateMemory(). Solvers that
// move operations query the effect of a move before they make it.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_MODEL_EDITABLESCHEDULE_H
#define COMMSCHED_LIB_SCHEDULE_MODEL_EDITABLESCHEDULE_H

#include "CommSched/Schedule/Model/MemoryTimeline.h"
#include "OrderTree.h"

namespace mlir::commsched::schedule {

/// The bytes that one operation allocates and frees, and its computation time.
struct OperationLoad {
  /// Bytes that it allocates, and that it frees by being their last user.
  int64_t allocated = 0;
  int64_t freed = 0;
  /// How long it holds the compute stream, in the caller's unit of time.
  int64_t computeTime = 0;
  NodeKind kind = NodeKind::Compute;
};

/// A summary of consecutive operations of an order. Levels are live bytes
/// relative to those before the first of them.
struct StretchLoad {
  StretchLoad() = default;
  explicit StretchLoad(const OperationLoad &load)
      : numNodes(1), numStarts(load.kind == NodeKind::Start),
        numWaits(load.kind == NodeKind::Wait),
        numBlocking(load.kind == NodeKind::Blocking),
        netBytes(load.allocated - load.freed), peakBytes(load.allocated),
        peakRemaining(netBytes), computeTime(load.computeTime) {}

  /// Returns the summary of this stretch followed by `next`.
  StretchLoad then(const StretchLoad &next) const;

  int32_t numNodes = 0;
  int32_t numStarts = 0;
  int32_t numWaits = 0;
  int32_t numBlocking = 0;
  /// The level after the stretch.
  int64_t netBytes = 0;
  /// The highest level after an operation allocated.
  int64_t peakBytes = 0;
  /// The highest level before an operation begins.
  int64_t peakBefore = 0;
  /// The highest level after an operation freed.
  int64_t peakRemaining = 0;
  int64_t computeTime = 0;
};

inline StretchLoad StretchLoad::then(const StretchLoad &next) const {
  if (numNodes == 0)
    return next;
  if (next.numNodes == 0)
    return *this;
  StretchLoad both;
  both.numNodes = numNodes + next.numNodes;
  both.numStarts = numStarts + next.numStarts;
  both.numWaits = numWaits + next.numWaits;
  both.numBlocking = numBlocking + next.numBlocking;
  both.netBytes = netBytes + next.netBytes;
  both.peakBytes = std::max(peakBytes, netBytes + next.peakBytes);
  both.peakBefore = std::max(peakBefore, netBytes + next.peakBefore);
  both.peakRemaining = std::max(peakRemaining, netBytes + next.peakRemaining);
  both.computeTime = computeTime + next.computeTime;
  return both;
}

/// An order of `problem`, which must outlive it.
class EditableSchedule {
public:
  using Tree = OrderTree<OperationLoad, StretchLoad>;

  /// Starts from `order`. `computeTimes` is by node, not negative, with a sum
  /// that fits 64 bits; empty stands for zeros. Error: the problem has one, or
  /// the order does not have each operation once. O(nodes + buffers + uses).
  static Result<EditableSchedule>
  create(const Problem &problem, const Order &order,
         const std::vector<int64_t> &computeTimes = {});

  const Problem &getProblem() const { return *problem; }

  //===--------------------------------------------------------------------===//
  // The order. O(log n) each, but for order().
  //===--------------------------------------------------------------------===//

  int32_t size() const { return tree.size(); }
  int32_t position(NodeId node) const { return tree.position(node); }
  NodeId at(int32_t position) const { return tree.at(position); }
  /// O(n).
  Order order() const { return tree.order(); }
  /// For searches by position.
  const Tree &getTree() const { return tree; }

  //===--------------------------------------------------------------------===//
  // Memory, as simulateMemory() defines it. O(log n) each.
  //===--------------------------------------------------------------------===//

  /// Live bytes before the first operation.
  int64_t initialBytes() const { return initial; }
  /// O(1).
  int64_t peakBytes() const {
    StretchLoad total = tree.total();
    return initial + (total.numNodes == 0 ? 0 : total.peakBytes);
  }
  /// Live bytes before `node`, after it allocated, and after it freed.
  int64_t bytesBefore(NodeId node) const {
    return initial + tree.before(node).netBytes;
  }
  int64_t allocatedBytes(NodeId node) const {
    return bytesBefore(node) + tree.leaf(node).allocated;
  }
  int64_t remainingBytes(NodeId node) const {
    return allocatedBytes(node) - tree.leaf(node).freed;
  }
  /// Compares the live bytes of all operations with simulateMemory(). Error:
  /// the first operation that differs, and both values. O(nodes + buffers +
  /// uses).
  Status compareWithSimulation() const;
  /// Returns the operation that frees the buffer, or noNode. O(1).
  NodeId lastUser(BufferId buffer) const { return lastUsers[buffer]; }

  //===--------------------------------------------------------------------===//
  // Moves. They do not check dependences, but no user of a buffer may be moved
  // before its producer.
  //===--------------------------------------------------------------------===//

  /// Moves the operations at [first, end) up so that they begin at `to`, which
  /// is not behind `first`; or down, so that they end before the operation that
  /// stands at `to`, which is not before `end`. O(log n) for each buffer that
  /// one of them uses or makes, and for each user of a buffer that one of them
  /// freed on the way up.
  void moveUp(int32_t first, int32_t end, int32_t to);
  void moveDown(int32_t first, int32_t end, int32_t to);

  /// The parts of a move, for callers that know which last uses it changes:
  /// exchanges the stretches [first, middle) and [middle, end), and lets `user`
  /// free `buffer` instead of its last user so far. O(log n) each.
  void exchange(int32_t first, int32_t middle, int32_t end) {
    tree.exchange(first, middle, end);
  }
  void setLastUser(BufferId buffer, NodeId user);

  /// Sets how long `node` holds the compute stream. O(log n).
  void setComputeTime(NodeId node, int64_t computeTime) {
    OperationLoad load = tree.leaf(node);
    load.computeTime = computeTime;
    tree.setLeaf(node, load);
  }

private:
  explicit EditableSchedule(const Problem &problem) : problem(&problem) {}

  const Problem *problem;
  int64_t initial = 0;
  std::vector<NodeId> lastUsers;
  Tree tree;
};

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_MODEL_EDITABLESCHEDULE_H
