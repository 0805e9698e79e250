//===- ReadyTracker.h - Operations in topological order ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counters for topological traversals (A. B. Kahn, "Topological sorting of
// large networks", Communications of the ACM 5, 1962). A vertex is ready when
// all of its predecessors have been taken. The client chooses the next ready
// vertex and keeps the ready vertices in a queue of its own.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_MODEL_READYTRACKER_H
#define COMMSCHED_LIB_SCHEDULE_MODEL_READYTRACKER_H

#include "CommSched/Schedule/Model/Problem.h"

#include <cassert>

namespace mlir::commsched::schedule {

/// The number of incoming edges of each vertex of a graph whose sources have
/// not been taken yet. Parallel edges count separately.
class IndegreeCounter {
public:
  IndegreeCounter() = default;
  explicit IndegreeCounter(size_t numVertices) : counts(numVertices) {}

  void addEdgesTo(int32_t vertex, size_t count = 1) {
    at(vertex) += static_cast<int32_t>(count);
  }
  /// Removes an edge because its source has been taken. Returns true if it was
  /// the last one, so that `vertex` is ready.
  bool removeEdgeTo(int32_t vertex) {
    assert(isPending(vertex) && "more edges removed than added");
    return --at(vertex) == 0;
  }
  /// Takes a vertex that is ready. Its outgoing edges are the caller's matter.
  void take(int32_t vertex) {
    assert(isReady(vertex) && "vertex is not ready");
    at(vertex) = taken;
  }

  /// Whether some predecessor has not been taken.
  bool isPending(int32_t vertex) const { return at(vertex) > 0; }
  /// Whether all predecessors have been taken, but not the vertex itself.
  bool isReady(int32_t vertex) const { return at(vertex) == 0; }
  bool isTaken(int32_t vertex) const { return at(vertex) < 0; }

  /// The vertices that are ready, ascending. O(vertices).
  std::vector<int32_t> listReady() const {
    std::vector<int32_t> ready;
    for (size_t vertex = 0; vertex < counts.size(); ++vertex)
      if (counts[vertex] == 0)
        ready.push_back(static_cast<int32_t>(vertex));
    return ready;
  }

private:
  static constexpr int32_t taken = -1;

  int32_t &at(int32_t vertex) {
    assert(vertex >= 0 && static_cast<size_t>(vertex) < counts.size());
    return counts[static_cast<size_t>(vertex)];
  }
  int32_t at(int32_t vertex) const {
    assert(vertex >= 0 && static_cast<size_t>(vertex) < counts.size());
    return counts[static_cast<size_t>(vertex)];
  }

  std::vector<int32_t> counts;
};

/// Whether a traversal begins at operations without predecessors and follows
/// dependences, or begins at operations without successors and goes against
/// them.
enum class TraversalDirection { Forward, Backward };

/// Tracks which operations of a problem are ready.
class ReadyTracker {
public:
  /// `problem` has to live on. O(nodes).
  explicit ReadyTracker(const Problem &problem, TraversalDirection direction =
                                                    TraversalDirection::Forward)
      : problem(&problem), direction(direction), counts(problem.numNodes()) {
    for (NodeId node = 0; node < problem.numNodes(); ++node)
      counts.addEdgesTo(node, before(node).size());
  }

  bool isReady(NodeId node) const { return counts.isReady(node); }
  bool isTaken(NodeId node) const { return counts.isTaken(node); }
  /// The operations that are ready, ascending. O(nodes).
  std::vector<NodeId> listReady() const { return counts.listReady(); }

  /// Takes an operation that is ready, and calls `onReady` with each operation
  /// that becomes ready by it. `onReady` may take that operation.
  /// O(dependences of `node`).
  template <typename ReadyFn> void take(NodeId node, ReadyFn onReady) {
    counts.take(node);
    for (DependenceEnd end : after(node))
      if (counts.removeEdgeTo(end.node))
        onReady(end.node);
  }

private:
  ArrayView<DependenceEnd> before(NodeId node) const {
    return direction == TraversalDirection::Forward
               ? problem->predecessors(node)
               : problem->successors(node);
  }
  ArrayView<DependenceEnd> after(NodeId node) const {
    return direction == TraversalDirection::Forward
               ? problem->successors(node)
               : problem->predecessors(node);
  }

  const Problem *problem;
  TraversalDirection direction;
  IndegreeCounter counts;
};

/// Returns `roots` and all that they need, depth first: each operation directly
/// behind what it needs and is not there yet. `pushNeeded(node, open)` appends
/// what `node` needs, of which the last comes first. No recursion, since chains
/// may be as long as the program. O(nodes + dependences).
template <typename PushFn>
Order orderDepthFirst(NodeId numNodes, const Order &roots, PushFn pushNeeded) {
  Order order;
  order.reserve(static_cast<size_t>(numNodes));
  std::vector<bool> entered(static_cast<size_t>(numNodes));
  // The work list, with the next entry on top: n enters node n, and ~n leaves
  // it.
  Order open(roots.rbegin(), roots.rend());
  while (!open.empty()) {
    NodeId node = open.back();
    open.pop_back();
    if (node < 0) {
      order.push_back(~node);
      continue;
    }
    if (entered[node])
      continue;
    entered[node] = true;
    open.push_back(~node);
    pushNeeded(node, open);
  }
  return order;
}

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_MODEL_READYTRACKER_H
