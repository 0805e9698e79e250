//===- CommSchedDialect.h - The commsched dialect ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_DIALECT_COMMSCHEDDIALECT_H
#define COMMSCHED_DIALECT_COMMSCHEDDIALECT_H

#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/DenseMap.h"

#include <memory>
#include <mutex>

#include "CommSched/Dialect/CommSchedDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "CommSched/Dialect/CommSchedAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "CommSched/Dialect/CommSchedTypes.h.inc"

#define GET_OP_CLASSES
#include "CommSched/Dialect/CommSchedOps.h.inc"

namespace mlir::commsched {

/// Whether `type` is a tensor or memref in pinned memory of the host
/// (`#commsched.host`).
bool isHostType(Type type);

/// `type` in the memory of the host, or of the device.
RankedTensorType getHostType(RankedTensorType type);
RankedTensorType getDeviceType(RankedTensorType type);

/// `tensor`, of static shape, as a view of one dimension.
Value flatten(OpBuilder &builder, Location location, Value tensor);

/// `tensor` as a view of `type`; one of the two has one dimension.
Value reshapeFlat(OpBuilder &builder, Location location, Value tensor,
                  RankedTensorType type);

// Operators of imported graphs whose result is a part of another value: the
// chunks of a value that is needed whole.

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

#endif // COMMSCHED_DIALECT_COMMSCHEDDIALECT_H
