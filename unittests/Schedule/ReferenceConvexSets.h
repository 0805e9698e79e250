//===- ReferenceConvexSets.h - Reference of convex sets ---------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks the contract of formConvexSets() dependence by dependence.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_SCHEDULE_REFERENCECONVEXSETS_H
#define COMMSCHED_UNITTESTS_SCHEDULE_REFERENCECONVEXSETS_H

#include "CommSched/Schedule/Graphs/ConvexSets.h"

#include <algorithm>

namespace mlir::commsched::schedule::testing {

/// The dependences among operations of which some were made one.
class ReplacedSets {
public:
  ReplacedSets(const Problem &problem, const std::vector<ConvexSet> &sets)
      : problem(&problem), names(problem.programOrder()) {
    for (const ConvexSet &set : sets)
      for (NodeId member : set.members)
        unite(set.members.front(), member);
  }

  void unite(NodeId a, NodeId b) {
    std::replace(names.begin(), names.end(), NodeId(names[b]),
                 NodeId(names[a]));
  }

  /// Whether there is a cycle of dependences between different ones: taking
  /// away whatever depends on nothing that is left does not take all.
  bool hasCycle() const {
    std::vector<bool> isTaken(names.size());
    for (size_t round = 0; round < names.size(); ++round) {
      std::vector<bool> isBlocked(names.size());
      for (NodeId node = 0; node < problem->numNodes(); ++node)
        for (DependenceEnd end : problem->predecessors(node))
          if (names[end.node] != names[node] && !isTaken[names[end.node]])
            isBlocked[names[node]] = true;
      for (NodeId node = 0; node < problem->numNodes(); ++node)
        if (!isBlocked[names[node]])
          isTaken[names[node]] = true;
    }
    return !std::all_of(names.begin(), names.end(),
                        [&](NodeId name) { return isTaken[name]; });
  }

private:
  const Problem *problem;
  /// For what each operation became a part of: one of its members.
  std::vector<NodeId> names;
};

/// How often a path enters operations of `label` at most, which takes as many
/// sets. A start and its wait are entered together.
inline int32_t countEntries(const Problem &problem,
                            const std::vector<int32_t> &labels, int32_t label) {
  std::vector<int32_t> entries(labels.size());
  for (size_t round = 0; round <= labels.size(); ++round) {
    for (NodeId node = 0; node < problem.numNodes(); ++node) {
      bool isInside = labels[node] == label;
      entries[node] = std::max(entries[node], int32_t(isInside));
      for (DependenceEnd end : problem.predecessors(node))
        entries[node] = std::max(entries[node],
                                 entries[end.node] +
                                     (isInside && labels[end.node] != label));
    }
    for (NodeId node = 0; node < problem.numNodes(); ++node) {
      NodeId wait = problem.waitOf(node);
      if (wait != noNode && labels[node] == label && labels[wait] == label)
        entries[node] = entries[wait] = std::max(entries[node], entries[wait]);
    }
  }
  return entries.empty() ? 0
                         : *std::max_element(entries.begin(), entries.end());
}

} // namespace mlir::commsched::schedule::testing

#endif // COMMSCHED_UNITTESTS_SCHEDULE_REFERENCECONVEXSETS_H
