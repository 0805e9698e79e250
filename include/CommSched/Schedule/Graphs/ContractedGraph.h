//===- ContractedGraph.h - Dependences among merged nodes -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dependence graph of a problem under edge contraction. Merged nodes form a
// class, which has the dependences of all of its members. The graph detects
// whether merging two classes would create a cycle.
//
// The graph maintains a topological order of the classes, so that only classes
// between two classes in this order can be on a path between them. Two searches
// run alternately in this region, forward from the earlier class and backward
// from the later one, until they meet or one of them is exhausted; then the
// classes that it found move past the other class. Limiting the search to the
// affected region is from D. J. Pearce and P. H. J. Kelly, "A Dynamic
// Topological Sort Algorithm for Directed Acyclic Graphs" (JEA 11, 2006),
// taking turns from B. Haeupler et al., "Incremental Cycle Detection,
// Topological Ordering, and Strong Component Maintenance" (TALG 8, 2012). Both
// are about the insertion of edges; a merge is an insertion in each direction,
// for which the order needs room on one side only.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_GRAPHS_CONTRACTEDGRAPH_H
#define COMMSCHED_SCHEDULE_GRAPHS_CONTRACTEDGRAPH_H

#include "CommSched/Schedule/Model/Problem.h"

namespace mlir::commsched::schedule {

/// An order as a linked list that compares two nodes in constant time: every
/// node has a label, and labels ascend. Searches that compare far more often
/// than they move use it instead of an OrderTree, which returns positions but
/// traverses a tree for each query.
///
/// Labels are kept as in M. A. Bender et al., "Two Simplified Algorithms for
/// Maintaining Order in a List" (ESA 2002): where no label is left between two
/// neighbours, the smallest aligned range of labels around them that is not too
/// dense for its size is spread out evenly.
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

/// A path of dependences from one class to another, by the members that it
/// joins. On its way it may lead through any classes.
struct JoiningPath {
  NodeId from;
  NodeId to;
};

class ContractedGraph {
public:
  /// Whether a dependence of a member on a member of the other class forbids to
  /// merge them.
  enum class DirectDependences {
    /// All but Order dependences do: the members run at once.
    Forbid,
    /// None does: the members run one after the other.
    Allow,
  };

  /// Every node is a class of its own. `problem` has to live on. Error: the
  /// problem has one. O(nodes).
  static Result<ContractedGraph>
  create(const Problem &problem,
         DirectDependences direct = DirectDependences::Forbid);

  /// The member that stands for the class of `node`. O(1).
  NodeId classOf(NodeId node) const { return classes[node]; }

  /// By their representatives, an order of the classes in which each comes
  /// after what it depends on. O(nodes).
  Order topologicalOrder() const { return order.nodes(); }

  /// A path that forbids to merge the classes of `a` and `b`, or nothing. Costs
  /// twice what the smaller of both searches does, which is the number of
  /// dependences and members of the classes that it finds.
  std::optional<JoiningPath> findPath(NodeId a, NodeId b);

  /// Merges the classes of `a` and `b`, unless there is a path that forbids it,
  /// which is returned. Costs what findPath() does, and O(log nodes) amortized
  /// for each class that the smaller search has found.
  std::optional<JoiningPath> merge(NodeId a, NodeId b);

  /// Merges two collectives, given by their Starts: both the classes of the
  /// starts and those of their waits, or neither if there is a path that
  /// forbids it, be it between the starts or between the waits. Starts and
  /// waits are to be merged in this way only. Costs as much as three merges.
  std::optional<JoiningPath> mergeCollectives(NodeId startA, NodeId startB);

  /// How many dependences all searches have followed so far.
  int64_t numSteps() const { return steps; }

private:
  enum class Direction : uint8_t { None, Forward, Backward };

  /// The state of one of the two searches; `found` is in the order of
  /// discovery.
  struct Search {
    Direction direction;
    std::vector<NodeId> found;
    /// The next edge of the search: the dependence of a member of a class.
    size_t nextClass = 0;
    NodeId member = noNode;
    size_t nextDependence = 0;

    bool isDone() const { return nextClass == found.size(); }
  };

  ContractedGraph(const Problem &problem, DirectDependences direct);

  std::optional<JoiningPath> search(NodeId earlier, NodeId later);
  void begin(Search &search, NodeId node);
  std::optional<JoiningPath> advance(Search &search);
  void moveFound(Search &search, NodeId place);
  void unite(NodeId placed, NodeId other);

  const Problem *problem;
  DirectDependences direct;
  LinkedOrder order;
  std::vector<NodeId> classes;
  /// The members of a class in a ring.
  std::vector<NodeId> nextMember;

  Search forward;
  Search backward;
  /// By representative: which search has found it, and from which member of the
  /// class that the search began with.
  std::vector<Direction> foundBy;
  std::vector<NodeId> origins;
  int64_t steps = 0;
};

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_GRAPHS_CONTRACTEDGRAPH_H
