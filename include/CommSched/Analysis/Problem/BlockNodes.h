//===- BlockNodes.h - Operations of a block as nodes ------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which node of a problem an operation is: its kind and its stream.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_PROBLEM_BLOCKNODES_H
#define COMMSCHED_ANALYSIS_PROBLEM_BLOCKNODES_H

#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Schedule/Model/Problem.h"
#include "mlir/IR/Operation.h"

namespace mlir::commsched {

/// Adds the operations of a block to a problem, in their order.
class BlockNodes {
public:
  /// `problem` outlives this.
  explicit BlockNodes(schedule::Problem &problem) : problem(problem) {}

  /// Adds `op`, which takes `costNs` unless it is a wait for a collective that
  /// was added. `effect` is getCommunicationEffect() of `op`, or what
  /// getEffectInBlock() makes of it.
  schedule::NodeId add(Operation *op, CommunicationEffect effect,
                       int64_t costNs);

  /// Adds `wait` for the collective that `start`, which was added, has started
  /// in the iteration before.
  void addLateWait(Operation *wait, Operation *start) {
    nodeOf[wait] = problem.addWait(lookup(start));
  }

  /// The node of `op`, or noNode if it was not added.
  schedule::NodeId lookup(Operation *op) const {
    return nodeOf.lookup_or(op, schedule::noNode);
  }

  /// The key of each stream (getStreamKey()), in the order of first appearance.
  SmallVector<Attribute> takeStreams() { return std::move(streams); }

  /// By stream: its first collective.
  ArrayRef<Operation *> getStreamCollectives() const { return collectives; }

private:
  schedule::StreamId getStream(Operation *collective);

  schedule::Problem &problem;
  DenseMap<Operation *, schedule::NodeId> nodeOf;
  DenseMap<Attribute, schedule::StreamId> streamOf;
  SmallVector<Attribute> streams;
  SmallVector<Operation *> collectives;
};

/// getCommunicationEffect(), but for halves of pairs. The start of a collective
/// that is waited for elsewhere, as in a loop with `commsched.pipelined`,
/// blocks: the loop finds it ended. The wait for a collective that was started
/// elsewhere does nothing: whoever started it counts until it ends.
CommunicationEffect getEffectInBlock(Operation *op);

/// Whether the collective of `op`, a start or a wait, is in flight across the
/// boundary of its block: it is neither a whole pair in the block nor handed to
/// a loop of the block, or taken from one.
bool isInFlightAcrossBlock(Operation *op);

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_PROBLEM_BLOCKNODES_H
