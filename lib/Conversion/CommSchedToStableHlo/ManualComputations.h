//===- ManualComputations.h - Outlined bodies back in place -----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_CONVERSION_COMMSCHEDTOSTABLEHLO_MANUALCOMPUTATIONS_H
#define COMMSCHED_LIB_CONVERSION_COMMSCHEDTOSTABLEHLO_MANUALCOMPUTATIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::commsched::stablehlo {

/// Moves the bodies of functions that the conversion from StableHLO outlined to
/// the place of their calls, and erases the functions. Failure, with an error,
/// if such a function is called more than once or is not a single block.
LogicalResult inlineManualComputations(ModuleOp module);

} // namespace mlir::commsched::stablehlo

#endif // COMMSCHED_LIB_CONVERSION_COMMSCHEDTOSTABLEHLO_MANUALCOMPUTATIONS_H
