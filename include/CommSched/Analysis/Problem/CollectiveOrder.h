//===- CollectiveOrder.h - The fixed order of collectives -------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_PROBLEM_COLLECTIVEORDER_H
#define COMMSCHED_ANALYSIS_PROBLEM_COLLECTIVEORDER_H

#include "mlir/IR/Operation.h"

namespace mlir::commsched {

/// Checks that of two collectives of one block, both with `commsched.order`,
/// the one that starts `later` has the greater number; else emits an error at
/// it that points at the `earlier` one.
LogicalResult verifyCollectiveOrder(Operation *earlier, Operation *later);

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_PROBLEM_COLLECTIVEORDER_H
