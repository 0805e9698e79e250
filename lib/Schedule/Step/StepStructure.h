//===- StepStructure.h - Roles of the operations of a step ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Divides the operations of a step into computation, whose order is given by a
// compute order; collectives; and cheap operations that are issued together
// with a collective, such as the cast before an all-gather and the views of its
// result. A compute order determines when everything else is needed.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_STEP_STEPSTRUCTURE_H
#define COMMSCHED_LIB_SCHEDULE_STEP_STEPSTRUCTURE_H

#include "CommSched/Schedule/Model/Problem.h"

namespace mlir::commsched::schedule {

/// Index of a collective of a StepStructure: 0, 1, … in the order of starts.
using CollectiveId = int32_t;
inline constexpr CollectiveId noCollective = -1;

/// How issuing and completing a collective changes the live bytes.
struct CollectiveBytes {
  /// By how many bytes issuing it, with its preparation, increases what is
  /// live, and the most by which that is increased meanwhile.
  int64_t issued = 0;
  int64_t issuing = 0;
  /// What it makes, and what is freed when it ends.
  int64_t delivered = 0;
  int64_t released = 0;
  /// Beside that, what it frees of the results of other collectives.
  int64_t passedOn = 0;

  /// Whether the collective releases memory. All others acquire memory.
  bool isReleasing() const { return released >= delivered; }
};

/// Of the collective of `start` with operations that are issued together with
/// it. O((buffers that they make and use, and their users) * log operations).
CollectiveBytes computeCollectiveBytes(const Problem &problem, NodeId start,
                                       const std::vector<NodeId> &preparation);

/// A Start, its Wait, and the operations that prepare its operands.
struct MovableCollective {
  NodeId start = noNode;
  NodeId wait = noNode;
  /// Cheap computation that only this start depends on, in a legal order. It
  /// allocates at least as much as it frees, so it is issued with the start.
  std::vector<NodeId> preparation;
  /// The number of other operations that preparation and start depend on.
  int32_t numPredecessors = 0;
  /// As CollectiveBytes has them.
  int64_t issuedBytes = 0;
  int64_t issuingBytes = 0;
  /// Whether the collective releases memory, or no operation of the compute
  /// order depends on it. Such a collective should end early.
  bool isReleasing = false;
  /// Whether the end of the collective frees the result of another one, such as
  /// what a reduce-scatter takes from an all-reduce.
  bool isFreeing = false;
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
