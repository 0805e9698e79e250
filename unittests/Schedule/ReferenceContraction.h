//===- ReferenceContraction.h - Reference of contraction --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dependence graph of a problem in which nodes are merged, rebuilt for
// every query and searched node by node. The tests compare ContractedGraph,
// formBuckets() and formConvexSets() with it.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_SCHEDULE_REFERENCECONTRACTION_H
#define COMMSCHED_UNITTESTS_SCHEDULE_REFERENCECONTRACTION_H

#include "CommSched/Schedule/Model/Problem.h"

#include <algorithm>

namespace mlir::commsched::schedule::testing {

class ReferenceContraction {
public:
  /// `allowsDirect`: a dependence within a class is no cycle.
  explicit ReferenceContraction(const Problem &problem,
                                bool allowsDirect = false)
      : problem(&problem), allowsDirect(allowsDirect),
        names(problem.programOrder()) {}

  /// Merges two classes, whatever comes of it.
  void merge(NodeId a, NodeId b) {
    std::replace(names.begin(), names.end(), NodeId(names[b]),
                 NodeId(names[a]));
  }

  bool isMerged(NodeId a, NodeId b) const { return names[a] == names[b]; }

  /// Whether the classes form a cycle. An Order dependence within a class is
  /// none; any other is, unless direct ones are allowed.
  bool hasCycle() const {
    std::vector<std::vector<NodeId>> successors(names.size());
    std::vector<int> missing(names.size());
    for (NodeId node = 0; node < problem->numNodes(); ++node)
      for (DependenceEnd end : problem->successors(node)) {
        if (names[node] == names[end.node] &&
            (allowsDirect || end.kind == DependenceKind::Order))
          continue;
        successors[names[node]].push_back(names[end.node]);
        ++missing[names[end.node]];
      }
    std::vector<NodeId> ready;
    for (NodeId node = 0; node < problem->numNodes(); ++node)
      if (missing[node] == 0)
        ready.push_back(node);
    for (size_t i = 0; i < ready.size(); ++i)
      for (NodeId successor : successors[ready[i]])
        if (--missing[successor] == 0)
          ready.push_back(successor);
    return ready.size() < names.size();
  }

  /// Whether a path leads from a dependence on `from` itself to a dependence of
  /// `to` itself, be it through classes, that is more than an Order dependence
  /// between the two.
  bool hasPath(NodeId from, NodeId to) const {
    std::vector<bool> reached(names.size());
    for (DependenceEnd end : problem->successors(from)) {
      if (end.node == to && end.kind != DependenceKind::Order)
        return true;
      if (!isMerged(end.node, from) && !isMerged(end.node, to))
        reached[names[end.node]] = true;
    }
    // Each round finds what is one dependence further away.
    for (size_t round = 0; round < names.size(); ++round)
      for (NodeId node = 0; node < problem->numNodes(); ++node)
        for (DependenceEnd end : problem->successors(node))
          if (reached[names[node]])
            reached[names[end.node]] = true;
    return std::any_of(problem->predecessors(to).begin(),
                       problem->predecessors(to).end(), [&](DependenceEnd end) {
                         return reached[names[end.node]] &&
                                !isMerged(end.node, to);
                       });
  }

private:
  const Problem *problem;
  bool allowsDirect;
  /// A name for the class of each node, which is one of its members.
  std::vector<NodeId> names;
};

} // namespace mlir::commsched::schedule::testing

#endif // COMMSCHED_UNITTESTS_SCHEDULE_REFERENCECONTRACTION_H
