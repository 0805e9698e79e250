//===- DataMovement.h - What a computation makes of tensors -----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What flows through an operation that only computes: which tensors its results
// are made of, and whether it does more than move them.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_ANALYSIS_FSDP_DATAMOVEMENT_H
#define COMMSCHED_LIB_ANALYSIS_FSDP_DATAMOVEMENT_H

#include "mlir/IR/Operation.h"

namespace mlir::commsched {

/// What the results of `op` are made of, apart from numbers: its operands, and
/// the values that its regions use from around it.
SmallVector<Value> getTensorInputs(Operation *op);

/// Whether the results of `op` are made of its tensor inputs and nothing else,
/// as it neither communicates nor draws random numbers nor does what nobody
/// knows, and its regions, if any, compute only numbers. Linear in what is
/// nested in `op`.
bool isLocalComputation(Operation *op);

/// Whether `op`, a local computation, does arithmetic, or might.
bool mayDoArithmetic(Operation *op);

/// Whether the only result of `op` has the shape of a concatenation of
/// `inputs`: along one dimension the sizes add up, all others are equal.
bool isConcatenation(Operation *op, ArrayRef<Value> inputs);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_ANALYSIS_FSDP_DATAMOVEMENT_H
