//===- PairProblem.h - Problems of both halves ------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A forward and its backward as one step: saved values live across both, and
// other buffers that the forward does not free stay live during the backward.
// docs/model.md states the rules.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_JOINT_PAIRPROBLEM_H
#define COMMSCHED_ANALYSIS_JOINT_PAIRPROBLEM_H

#include "CommSched/Analysis/Costs/GroupContention.h"
#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::commsched {

/// The two halves of a partition.
struct FunctionPair {
  FunctionOpInterface forward;
  FunctionOpInterface backward;
};

/// The functions of the body of `module` that `commsched.backward` and
/// `commsched.forward` link with each other, in the order of their forwards.
/// Linear in the functions.
SmallVector<FunctionPair> getFunctionPairs(Operation *module);

/// The problem of a forward and its backward, one after the other, so that one
/// simulation computes the time and the memory of both: a saved value is one
/// buffer from the operation of the forward that makes it to its last use in
/// the backward.
struct PairProblem {
  /// A buffer as one of the halves knows it: the forward for a buffer of both.
  struct HalfBuffer {
    bool isBackward;
    schedule::BufferId buffer;
  };

  /// None, with the `reason` in words, when a half has several blocks or a
  /// collective in flight across its boundary, or the backward does not take
  /// what the forward saves.
  /// Emits an error when BlockProblem::create() does and when the sums over
  /// both do not fit.
  static FailureOr<std::optional<PairProblem>>
  create(FunctionPair pair, BlockProblem::CostFunction getCost,
         std::string &reason, StreamOrder streamOrder = StreamOrder::Kept);

  /// The operation between the halves, which makes the tangents.
  schedule::NodeId getBetween() const {
    return forward.getProblem().numNodes();
  }

  BlockProblem forward;
  BlockProblem backward;
  /// The operations of the forward, one that takes no time and stands for all
  /// that comes between, and those of the backward. There are no dependences
  /// but those of waits: the order is that of the program.
  schedule::Problem problem;
  /// By buffer.
  SmallVector<HalfBuffer> halfBuffers;
  /// The first collective of each stream.
  SmallVector<ContentionStream> streams;
  /// The bytes of the storages that the forward allocates and hands to its
  /// backward, each counted once: none for arguments and their views.
  int64_t savedBytes = 0;
};

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_JOINT_PAIRPROBLEM_H
