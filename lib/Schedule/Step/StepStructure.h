//===- StepStructure.h - Roles of the operations of a step ---- -*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Divides the operations of a step into computation, whose order is given by a
// compute order; collectives; and cheap operations that are issued together
// with a collective, such as the cast before an all-gather and the views of its
// result. A compute order determines when everything else is needed.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_STEP_STEPSTRUCTURE_H
#define COMMSCHED_LIB_SCHEDULE_STEP_STEPSTRUCTURE_H

#include "CommSched/Schedule/Problem.h"

namespace mlir::commsched::schedule {

/// Index of a collective of a StepStructure: 0, 1, … in the order of starts.
using CollectiveId = int32_t;
inline constexpr CollectiveId noCollective = -1;

/// A Start with its Wait and what prepares it.
struct MovableCollective {
  NodeId start = noNode;
  NodeId wait = noNode;
  /// Cheap computation that nothing but this start needs, in an order that
  /// dependences allow: what makes more than it frees, so that it had better
  /// run when the collective is issued.
  std::vector<NodeId> preparation;
  /// How many other operations have to run before preparation and start.
  int32_t numPredecessors = 0;
  /// What is live more, in bytes, once preparation and start have run.
  int64_t issuedBytes = 0;
  /// The most that may be live more, in bytes, while they run.
  int64_t issuingBytes = 0;
  /// Whether it had better be over early: then no more is live than before, or
  /// nothing of the compute order needs it.
  bool isReleasing = false;
};

/// The structure depends on the dependences and buffers only, not on an order.
class StepStructure {
public:
  /// `problem` has to live on. Error: the problem has one.
  /// O(nodes + dependences + uses).
  static Result<StepStructure> create(const Problem &problem);

  const Problem &getProblem() const { return *problem; }

  /// Whether the operation runs where its place in the order of computation
  /// is; others run when they are needed.
  bool isInComputeOrder(NodeId node) const {
    return inComputeOrder[node];
  }

  /// Whether it is part of what prepares a collective.
  bool isPreparation(NodeId node) const {
    return preparedStarts[node] != noNode;
  }

  CollectiveId numCollectives() const {
    return static_cast<CollectiveId>(collectives.size());
  }
  const MovableCollective &collective(CollectiveId id) const {
    return collectives[id];
  }
  /// The collective that the node is the Start or Wait of, or noCollective.
  CollectiveId collectiveOf(NodeId node) const {
    return collectiveOfNode[node];
  }

  /// The collectives that wait for `node` to run before they can be issued.
  ArrayView<CollectiveId> successors(NodeId node) const {
    return successorRows[node];
  }

private:
  explicit StepStructure(const Problem &problem) : problem(&problem) {}

  void findPreparation();
  void findComputation();
  void findCollectives();
  void findPredecessors();
  void weigh(MovableCollective &collective) const;

  const Problem *problem;
  std::vector<char> inComputeOrder;
  /// By operation: the one start that needs it, if it is preparation.
  std::vector<NodeId> preparedStarts;
  std::vector<MovableCollective> collectives;
  std::vector<CollectiveId> collectiveOfNode;
  Csr<CollectiveId> successorRows;
};

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_STEP_STEPSTRUCTURE_H
