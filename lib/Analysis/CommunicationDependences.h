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

#ifndef COMMSCHED_LIB_ANALYSIS_COMMUNICATIONDEPENDENCES_H
#define COMMSCHED_LIB_ANALYSIS_COMMUNICATIONDEPENDENCES_H

#include "CommSched/Analysis/CommunicationEffects.h"
#include "CommSched/Schedule/Problem.h"

namespace mlir::commsched {

/// Keeps collectives in order, and everything that communicates on its side of
/// the operations whose communication is not known.
class CommunicationDependences {
public:
  explicit CommunicationDependences(::commsched::Problem &problem)
      : problem(problem) {}

  /// Adds what `op` depends on by its communication. Emits an error when its
  /// `commsched.order` contradicts that of an earlier collective.
  LogicalResult visit(Operation *op, ::commsched::NodeId node,
                      CommunicationEffect effect);

private:
  LogicalResult visitOrder(Operation *op, ::commsched::NodeId node);

  ::commsched::Problem &problem;
  /// The last collective of each stream.
  SmallVector<::commsched::NodeId> lastOfStream;
  /// The last collective with `commsched.order`.
  ::commsched::NodeId lastOrdered = ::commsched::noNode;
  Operation *lastOrderedOp = nullptr;
  ::commsched::NodeId lastBarrier = ::commsched::noNode;
  /// What communicates since the last barrier.
  SmallVector<::commsched::NodeId> sinceBarrier;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_ANALYSIS_COMMUNICATIONDEPENDENCES_H
