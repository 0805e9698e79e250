//===- ConvexSets.cpp - Convex sets of operations -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Graphs/GroupedOrder.h"

#include "CommSched/Schedule/Graphs/ContractedGraph.h"

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

/// One run of formConvexSets(), on input without errors. A unit is a set of a
/// label that is done, or else a start with its wait or one operation; one of
/// its members stands for it.
class ConvexSetForming {
public:
  ConvexSetForming(const Problem &problem, const std::vector<int32_t> &labels,
                   ContractedGraph graph);

  std::vector<ConvexSet> run();

private:
  /// The part of the order that a label's operations lie in.
  struct Stretch {
    size_t first;
    size_t end;
  };

  void formLabel(int32_t label, ArrayView<NodeId> members);
  void findLevels(int32_t label, Stretch stretch);
  bool leaveSplitPairs(int32_t label, ArrayView<NodeId> members);
  void contract(int32_t label, Stretch stretch);
  void unite(NodeId unit, NodeId other);
  void place(NodeId unit, size_t position);
  void leavePair(NodeId start);
  std::vector<ConvexSet> takeSets() const;

  const Problem &problem;
  std::vector<int32_t> labels;
  std::vector<NodeId> unitOf;
  /// The members of a unit in a ring.
  std::vector<NodeId> nextMember;
  /// The units, each after what it depends on, with noNode in between where
  /// units were united.
  Order order;
  /// By unit.
  std::vector<size_t> positions;
  /// By unit, for the label at hand: how often a path to it has left the label.
  std::vector<int32_t> levels;
};

} // namespace

/// Starts whose waits have other labels lose theirs. Others are units with
/// their waits, unless a path joins the two by way of another operation.
ConvexSetForming::ConvexSetForming(const Problem &problem,
                                   const std::vector<int32_t> &labels,
                                   ContractedGraph graph)
    : problem(problem), labels(labels), unitOf(problem.programOrder()),
      nextMember(unitOf), positions(labels.size()), levels(labels.size()) {
  for (NodeId node : problem.programOrder()) {
    NodeId wait = problem.waitOf(node);
    if (wait == noNode)
      continue;
    if (labels[node] != labels[wait])
      leavePair(node);
    else if (labels[node] != noLabel && !graph.merge(node, wait))
      unite(graph.classOf(node), graph.classOf(node) == node ? wait : node);
  }
  order = graph.topologicalOrder();
  for (size_t position = 0; position < order.size(); ++position)
    positions[order[position]] = position;
}

void ConvexSetForming::leavePair(NodeId start) {
  labels[start] = noLabel;
  labels[problem.waitOf(start)] = noLabel;
}

/// Sets the levels of the units in `stretch`. Paths between operations of the
/// label do not leave it.
void ConvexSetForming::findLevels(int32_t label, Stretch stretch) {
  for (size_t position = stretch.first; position < stretch.end; ++position) {
    NodeId unit = order[position];
    if (unit == noNode)
      continue;
    bool isInside = labels[unit] == label;
    int32_t level = 0;
    NodeId member = unit;
    do {
      for (DependenceEnd end : problem.predecessors(member)) {
        NodeId from = unitOf[end.node];
        if (from == unit || positions[from] < stretch.first)
          continue;
        bool leaves = !isInside && labels[from] == label;
        level = std::max(level, levels[from] + leaves);
      }
      member = nextMember[member];
    } while (member != unit);
    levels[unit] = level;
  }
}

/// Takes the label from starts that are on another level than their waits, and
/// from these. Returns whether there were any.
bool ConvexSetForming::leaveSplitPairs(int32_t label,
                                       ArrayView<NodeId> members) {
  bool found = false;
  for (NodeId node : members) {
    NodeId wait = problem.waitOf(node);
    if (wait == noNode || labels[node] != label ||
        levels[unitOf[node]] == levels[unitOf[wait]])
      continue;
    leavePair(node);
    found = true;
  }
  return found;
}

void ConvexSetForming::unite(NodeId unit, NodeId other) {
  NodeId member = other;
  do {
    unitOf[member] = unit;
    member = nextMember[member];
  } while (member != other);
  std::swap(nextMember[unit], nextMember[other]);
}

void ConvexSetForming::place(NodeId unit, size_t position) {
  order[position] = unit;
  positions[unit] = position;
}

/// Makes units of the sets. On each level the others come first: they do not
/// depend on the set there, or they would be on a higher one.
void ConvexSetForming::contract(int32_t label, Stretch stretch) {
  auto keyOf = [&](NodeId unit) {
    return 2 * static_cast<size_t>(levels[unit]) + (labels[unit] == label);
  };
  Order units;
  size_t numKeys = 0;
  for (size_t position = stretch.first; position < stretch.end; ++position)
    if (NodeId unit = order[position]; unit != noNode) {
      units.push_back(unit);
      numKeys = std::max(numKeys, keyOf(unit) + 1);
    }
  Csr<NodeId> byKey;
  byKey.build(
      numKeys, units.size(),
      [&](size_t i) { return static_cast<int32_t>(keyOf(units[i])); },
      [&](size_t i) { return units[i]; });
  size_t position = stretch.first;
  for (size_t key = 0; key < numKeys; ++key) {
    ArrayView<NodeId> row = byKey[static_cast<int32_t>(key)];
    bool isSet = key % 2 == 1;
    for (size_t i = 0; i < row.size(); ++i)
      if (isSet && i > 0)
        unite(row[0], row[i]);
      else
        place(row[i], position++);
  }
  std::fill(order.begin() + static_cast<ptrdiff_t>(position),
            order.begin() + static_cast<ptrdiff_t>(stretch.end), noNode);
}

void ConvexSetForming::formLabel(int32_t label, ArrayView<NodeId> members) {
  Stretch stretch = {order.size(), 0};
  for (NodeId node : members) {
    size_t position = positions[unitOf[node]];
    stretch.first = std::min(stretch.first, position);
    stretch.end = std::max(stretch.end, position + 1);
  }
  do
    findLevels(label, stretch);
  while (leaveSplitPairs(label, members));
  contract(label, stretch);
}

std::vector<ConvexSet> ConvexSetForming::takeSets() const {
  std::vector<ConvexSet> sets;
  std::vector<int32_t> indexOf(labels.size(), -1);
  for (size_t node = 0; node < labels.size(); ++node) {
    if (labels[node] == noLabel)
      continue;
    int32_t &index = indexOf[unitOf[node]];
    if (index < 0) {
      index = static_cast<int32_t>(sets.size());
      sets.push_back({labels[node], {}});
    }
    sets[index].members.push_back(static_cast<NodeId>(node));
  }
  return sets;
}

std::vector<ConvexSet> ConvexSetForming::run() {
  Csr<NodeId> members;
  members.build(
      labels.size(), labels.size(), [&](size_t i) { return labels[i]; },
      [](size_t i) { return static_cast<NodeId>(i); });
  // The rows stay as they are while pairs lose their labels.
  for (size_t node = 0; node < labels.size(); ++node)
    if (int32_t label = labels[node];
        label != noLabel && members[label][0] == static_cast<NodeId>(node))
      formLabel(label, members[label]);
  return takeSets();
}

Result<std::vector<ConvexSet>>
schedule::formConvexSets(const Problem &problem,
                         const std::vector<int32_t> &labels) {
  Result<ContractedGraph> graph = ContractedGraph::create(
      problem, ContractedGraph::DirectDependences::Allow);
  if (!graph)
    return Error{graph.error()};
  if (labels.size() != static_cast<size_t>(problem.numNodes()))
    return Error{"there are " + std::to_string(labels.size()) +
                 " labels, but the problem has " +
                 std::to_string(problem.numNodes()) + " nodes"};
  for (NodeId node : problem.programOrder())
    if (labels[node] < noLabel || labels[node] >= problem.numNodes())
      return Error{problem.describe(node) + " has the label " +
                   std::to_string(labels[node]) + "; the problem has " +
                   std::to_string(problem.numNodes()) + " nodes"};
  return ConvexSetForming(problem, labels, std::move(*graph)).run();
}
