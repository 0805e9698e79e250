//===- CountedLoop.h - Loops with a condition that count --------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns an `scf.while` whose condition compares a counter with a bound into an
// `scf.for`.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_STEADYSTATE_COUNTEDLOOP_H
#define COMMSCHED_LIB_TRANSFORMS_STEADYSTATE_COUNTEDLOOP_H

#include "CommSched/Analysis/Cyclic/LoopProblem.h"

namespace mlir::commsched {

/// A copy of an `scf.while` as a loop that counts.
struct CountedLoop {
  scf::ForOp loop;
  /// By result of the original; null for its counter, which has no use.
  SmallVector<Value> results;
};

/// Replaces the loop by one without the values that it yields as it takes them,
/// which become those from outside.
CountedLoop dropPassedOn(scf::ForOp loop);

/// The operations that make the bounds and the step of the loop, each once.
SmallVector<Operation *> listBounds(scf::ForOp loop);

/// Erases those of the operations that nothing uses.
void eraseUnused(ArrayRef<Operation *> operations);

/// Erases a loop that nothing uses, with the bounds that only it uses.
void eraseWithBounds(scf::ForOp loop);

/// Returns a copy of `loop`, in front of it. None, after a call of `decline`,
/// if the condition does not compare a counter with a bound, the step is not a
/// positive constant, or the counter is used behind the loop. Values that are
/// passed from iteration to iteration as they are become those from outside.
/// Linear in the operations of the loop.
std::optional<CountedLoop>
copyAsCountedLoop(scf::WhileOp loop, LoopProblem::DeclineFunction decline);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_STEADYSTATE_COUNTEDLOOP_H
