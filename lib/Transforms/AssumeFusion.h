//===- AssumeFusion.h - Price what a later compiler fuses -------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_ASSUMEFUSION_H
#define COMMSCHED_LIB_TRANSFORMS_ASSUMEFUSION_H

#include "CommSched/Analysis/Costs/OperationCosts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::commsched {

/// Replaces what commsched-assume-fusion has written in `function` by what
/// holds for it as it has become. Returns whether it has written anything.
bool renewAssumedFusion(func::FuncOp function, OperationCosts &costs);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_ASSUMEFUSION_H
