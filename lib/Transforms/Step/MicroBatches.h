//===- MicroBatches.h - Micro-batches in one function -----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Creates a function that runs a forward and a backward for several
// micro-batches and adds up the gradients.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_STEP_MICROBATCHES_H
#define COMMSCHED_LIB_TRANSFORMS_STEP_MICROBATCHES_H

#include "JoinedFunction.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::commsched {

/// The functions of a step with an optimizer.
struct AccumulatedStep {
  /// Run for each micro-batch, such as forward and backward.
  SmallVector<func::FuncOp> repeated;
  /// Run once: what they return feeds the next repetition of the step.
  SmallVector<func::FuncOp> updates;
  /// The results of the repeated functions, by function and number, that the
  /// updates take.
  SmallVector<JoinedPort> taken;
};

/// Divides the linked functions `parts` of a step. None, after a call of
/// `decline`, if nothing repeats or nothing is updated, if a repeated function
/// takes what another micro-batch or an update has made, or if an update takes
/// a value that cannot be added up: it is no tensor of floating-point numbers.
std::optional<AccumulatedStep>
divideStep(ArrayRef<func::FuncOp> parts,
           function_ref<void(Location, const Twine &)> decline);

/// Creates the function `name`, in no module yet, which runs the repeated ones
/// for `count` micro-batches, one after the other. Its arguments are those of
/// the first micro-batch, and of each further one those with the role `input`.
/// Its results are first what the updates take, in the order of `step.taken`,
/// where gradients are sums over the micro-batches; then, by micro-batch, what
/// nothing takes, such as the loss. Linear in the operations.
func::FuncOp createMicroBatches(const AccumulatedStep &step, unsigned count,
                                StringRef name);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_STEP_MICROBATCHES_H
