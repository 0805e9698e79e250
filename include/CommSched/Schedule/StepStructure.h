//===- StepStructure.h - What of a step moves, and what it moves along -*- C++
//-*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tells the operations of a step apart: the computation that is its backbone,
// the collectives, and the cheap operations that go along with them, such as
// the cast before a gather and the views behind it. Where an operation of the
// backbone stands decides when the others are needed.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_STEPSTRUCTURE_H
#define COMMSCHED_SCHEDULE_STEPSTRUCTURE_H

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
  int32_t numAwaited = 0;
  /// What is live more, in bytes, once preparation and start have run.
  int64_t issuedBytes = 0;
  /// The most that may be live more, in bytes, while they run.
  int64_t issuingBytes = 0;
  /// Whether it had better be over early: then no more is live than before, or
  /// nothing of the backbone needs it.
  bool isEager = false;
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
  bool isBackbone(NodeId node) const { return backbone[node]; }

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
  ArrayView<CollectiveId> awaiters(NodeId node) const {
    return awaiterRows[node];
  }

private:
  explicit StepStructure(const Problem &problem) : problem(&problem) {}

  void findPreparation();
  void findBackbone();
  void findCollectives();
  void findAwaited();
  void weigh(MovableCollective &collective) const;

  const Problem *problem;
  std::vector<char> backbone;
  /// By operation: the one start that needs it, if it is preparation.
  std::vector<NodeId> preparedStarts;
  std::vector<MovableCollective> collectives;
  std::vector<CollectiveId> collectiveOfNode;
  Csr<CollectiveId> awaiterRows;
};

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_STEPSTRUCTURE_H
