//===- Casts.h - Conversions between floating-point types -------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which operations convert a tensor to another floating-point type and do
// nothing else, among them the operators of PyTorch that are known to. Copies
// that convert can do their work, and so can whoever runs a program.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_PROBLEM_CASTS_H
#define COMMSCHED_ANALYSIS_PROBLEM_CASTS_H

#include "mlir/IR/Operation.h"

namespace mlir::commsched {

/// Whether `op` is a cast from one floating-point type to another that rounds
/// to the nearest. Integers have no sign here, so what their conversion does is
/// not known.
bool isCast(Operation *op);

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_PROBLEM_CASTS_H
