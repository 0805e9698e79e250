//===- StepStructure.h - Roles of the operations of a step ------*- C++ -*-===//
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

#include "CommSched/Schedule/Model/Problem.h"

namespace mlir::commsched::schedule {

/// Index of a collective of a StepStructure: 0, 1, … in the order of starts.
using CollectiveId = int32_t;
inline constexpr CollectiveId noCollective = -1;

/// A Start, its Wait, and the operations that prepare its operands.
struct MovableCollective {
  NodeId start = noNode;
  NodeId wait = noNode;
  /// Cheap computation that only this start depends on, in a legal order. It
  /// allocates at least as much as it frees, so it is issued with the start.
  std::vector<NodeId> preparation;
  /// The number of other operations that preparation and start depend on.
  int32_t numPredecessors = 0;
  /// By how many bytes issuing preparation and start increases what is live.
  int64_t issuedBytes = 0;
  /// The most by which live bytes may increase while they are issued.
  int64_t issuingBytes = 0;
  /// Whether the collective releases memory: it releases at least as many bytes
  /// as it delivers, or no operation of the compute order depends on it. Such a
  /// collective should end early. All others acquire memory.
  bool isReleasing = false;
};

/// The structure depends on the dependences and buffers only, not on an order.
class StepStructure {
public:
  /// `problem` has to live on. Error: the problem has one.
  /// O(nodes + dependences + uses).
  static Result<StepStructure> create(const Problem &problem);

  const Problem &getProblem() const { return *problem; }

  /// Whether the position of the operation is given by the compute order. All
  /// other operations are issued when they are needed.
  bool isInComputeOrder(NodeId node) const { return inComputeOrder[node]; }

  /// Whether the operation is part of the preparation of a collective.
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

  /// The collectives that depend on `node`, directly or by their preparation.
  ArrayView<CollectiveId> successors(NodeId node) const {
    return successorRows[node];
  }

private:
  explicit StepStructure(const Problem &problem) : problem(&problem) {}

  void findPreparation();
  void findComputation();
  void findCollectives();
  void findCollectivePredecessors();
  void computeBytes(MovableCollective &collective) const;

  const Problem *problem;
  std::vector<char> inComputeOrder;
  /// By operation: the start that it prepares, or noNode.
  std::vector<NodeId> preparedStarts;
  std::vector<MovableCollective> collectives;
  std::vector<CollectiveId> collectiveOfNode;
  Csr<CollectiveId> successorRows;
};

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_STEP_STEPSTRUCTURE_H
