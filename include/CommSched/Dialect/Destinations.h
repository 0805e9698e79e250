//===- Destinations.h - Operators that write a destination ------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operators of imported graphs whose result is a part of another value: the
// chunks of a value that is needed whole.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_DIALECT_DESTINATIONS_H
#define COMMSCHED_DIALECT_DESTINATIONS_H

#include "CommSched/Dialect/CommSchedDialect.h"

namespace mlir::commsched {

/// The name of the operator that gives a destination when all parts of it,
/// which are its other operands, are written.
constexpr llvm::StringLiteral joinCallee = "commsched.join";

/// Whether `op` is a `commsched.compute` that writes its result into the
/// operand that it aliases: it moves bytes, which a view does not, and mutates
/// none of the values that it reads.
bool writesDestination(Operation *op);

/// Makes `op`, which has one result and aliases nothing, write the result into
/// `destination`, which becomes its last operand. What it costs stays as it is.
/// `op` moves bytes.
void writeInto(ComputeOp op, Value destination);

} // namespace mlir::commsched

#endif // COMMSCHED_DIALECT_DESTINATIONS_H
