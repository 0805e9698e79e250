//===- PairProblem.h - Both halves of a step as one problem -----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A forward and its backward, one after the other, in one problem, so that one
// simulation tells what both take: what is saved is one buffer from the forward
// that makes it to its last use in the backward.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_REPORT_PAIRPROBLEM_H
#define COMMSCHED_LIB_REPORT_PAIRPROBLEM_H

#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "CommSched/Report/PairReport.h"

namespace mlir::commsched {

class PairProblem {
public:
  /// A buffer as one of the halves knows it.
  struct HalfBuffer {
    bool isBackward;
    schedule::BufferId buffer;
  };

  /// None, with the `reason` in words, when a half has several blocks or a size
  /// that is not known, or the backward does not take what the forward saves.
  /// Emits an error when BlockProblem::create() does and when the sums over
  /// both do not fit.
  static FailureOr<std::optional<PairProblem>>
  create(FunctionPair pair, BlockProblem::CostFunction getCost,
         std::string &reason);

  /// The operations of the forward, one that takes no time and stands for all
  /// that comes between, and those of the backward. There are no dependences
  /// but those of waits: the order is that of the program.
  const schedule::Problem &getProblem() const { return problem; }

  const BlockProblem &getForward() const { return forward; }
  const BlockProblem &getBackward() const { return backward; }

  /// The first collective of each stream.
  ArrayRef<CollectiveOpInterface> getStreamCollectives() const {
    return streams;
  }

  /// The operation between the halves, which makes the tangents.
  schedule::NodeId getBetween() const {
    return forward.getProblem().numNodes();
  }

  /// What the buffer is called after; the forward's for one of both.
  HalfBuffer getHalfBuffer(schedule::BufferId buffer) const {
    return halfBuffers[buffer];
  }

  /// See PairMemory.
  int64_t getSavedBytes() const { return savedBytes; }

private:
  friend class PairProblemBuilder;

  PairProblem(BlockProblem forward, BlockProblem backward)
      : forward(std::move(forward)), backward(std::move(backward)) {}

  BlockProblem forward;
  BlockProblem backward;
  schedule::Problem problem;
  SmallVector<HalfBuffer> halfBuffers;
  SmallVector<CollectiveOpInterface> streams;
  int64_t savedBytes = 0;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_REPORT_PAIRPROBLEM_H
