//===- CommSchedDialect.h - The commsched dialect ---------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
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

} // namespace mlir::commsched

#endif // COMMSCHED_DIALECT_COMMSCHEDDIALECT_H
