//===- CommunicationDependences.h - Order of communication ------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Visits the operations of a block in program order and adds to a problem the
// dependences that SSA does not show. Each rule keeps the frontier that the
// next operation could conflict with, so that the number of dependences stays
// linear in the operations and their effects.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_ANALYSIS_PROBLEM_COMMUNICATIONDEPENDENCES_H
#define COMMSCHED_LIB_ANALYSIS_PROBLEM_COMMUNICATIONDEPENDENCES_H

#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Schedule/Problem.h"

namespace mlir::commsched {

/// Keeps collectives in order, and everything that communicates on its side of
/// the operations whose communication is not known.
class CommunicationDependences {
public:
  CommunicationDependences(schedule::Problem &problem,
                           CollectiveOrder collectiveOrder)
      : problem(problem), collectiveOrder(collectiveOrder) {}

  /// Adds what `op` depends on by its communication. Emits an error when its
  /// `commsched.order` contradicts that of an earlier collective.
  LogicalResult visit(Operation *op, schedule::NodeId node,
                      CommunicationEffect effect);

private:
  /// Operations that nothing may cross, and what came since the last of them
  /// and keeps no order among itself.
  struct Frontier {
    schedule::NodeId last = schedule::noNode;
    SmallVector<schedule::NodeId> since;
  };

  void advance(Frontier &frontier, schedule::NodeId node, bool isCrossed,
               schedule::DependenceKind kind);
  void visitStream(Operation *op, schedule::NodeId node);
  LogicalResult visitOrder(Operation *op, schedule::NodeId node);

  schedule::Problem &problem;
  CollectiveOrder collectiveOrder;
  /// The collectives of each stream that keep their place on it.
  SmallVector<Frontier> streams;
  /// The last collective with `commsched.order`.
  schedule::NodeId lastOrdered = schedule::noNode;
  Operation *lastOrderedOp = nullptr;
  /// What communicates in a way that nothing describes, or blocks.
  Frontier barriers;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_ANALYSIS_PROBLEM_COMMUNICATIONDEPENDENCES_H
