//===- Dimensions.h - Operations that measure -------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations that read of a tensor or memref only how large it is, such as
// `tensor.dim`: nothing has to be kept for them but a number, or not even that.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_PROBLEM_DIMENSIONS_H
#define COMMSCHED_ANALYSIS_PROBLEM_DIMENSIONS_H

#include "mlir/IR/Operation.h"

#include <optional>

namespace mlir::commsched {

/// Whether `op` reads only dimensions of what it is given.
bool readsOnlyDimensions(Operation *op);

/// What `op` yields as an index if its operand's type tells it: the operation
/// then needs no operand at all.
std::optional<int64_t> getStaticDimension(Operation *op);

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_PROBLEM_DIMENSIONS_H
