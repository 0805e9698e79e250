//===- MimicAutogradOrder.h - Order of an autograd engine -------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Applies `schedule::mimicAutogradOrder` to a backward function.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_JOINT_MIMICAUTOGRADORDER_H
#define COMMSCHED_LIB_TRANSFORMS_JOINT_MIMICAUTOGRADORDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::commsched {

/// Puts what the first operation that uses a tangent, and those behind it,
/// depend on right before the first of them that needs it. Operations before it
/// that write memory stay in front, with what they depend on. A function of
/// several blocks, without such an operation, or with a forward in it, stays as
/// it is; with `emitRemarks`, a remark says what was done or why nothing was.
/// Emits an error when no problem can be made of the block; see
/// BlockProblem::create(). Returns whether anything moved. Linear.
FailureOr<bool> applyAutogradOrder(func::FuncOp function,
                                   bool emitRemarks = true);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_JOINT_MIMICAUTOGRADORDER_H
