//===- BackwardSplit.h - Halves of a backward -------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides which operations of a backward compute the gradients of inputs. The
// others compute the gradients of weights and run behind all of these.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_STEP_BACKWARDSPLIT_H
#define COMMSCHED_LIB_TRANSFORMS_STEP_BACKWARDSPLIT_H

#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"
#include <optional>

namespace mlir::commsched {

/// What the two halves of a backward compute.
struct BackwardSplit {
  /// By result of the backward: whether it is a gradient of an input.
  llvm::BitVector isInputGradient;
  /// The operations of the half of the inputs. What any of them depends on is
  /// among them, and so is the wait of each start.
  llvm::DenseSet<Operation *> ofInputs;
  /// Those of them that the half of the weights repeats, since they take no
  /// time: views and constants.
  llvm::DenseSet<Operation *> repeated;
  /// What the half of the weights takes from that of the inputs: arguments,
  /// then results of operations, both in their order.
  SmallVector<Value> handed;
  /// The arguments of the backward that the half of the inputs takes.
  llvm::BitVector inputArguments;
  /// Those that the half of the weights takes from whoever feeds the backward.
  llvm::BitVector weightArguments;
};

/// Splits `function`, a lone block, for the results that are gradients of
/// inputs. Fails with an error where the operations contradict each other, and
/// returns an obstacle where the halves would differ from the whole. Linear in
/// the operations, operands and dependences.
FailureOr<std::optional<BlockObstacle>>
splitBackward(func::FuncOp function, const llvm::BitVector &isInputGradient,
              BackwardSplit &split);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_STEP_BACKWARDSPLIT_H
