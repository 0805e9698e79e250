//===- CommSchedRtDialect.h - Requests of the runtime -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dialect `commsched_rt`: what the runtime does, on tensors and on memrefs.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_DIALECT_RUNTIME_COMMSCHEDRTDIALECT_H
#define COMMSCHED_DIALECT_RUNTIME_COMMSCHEDRTDIALECT_H

#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "CommSched/Dialect/Runtime/CommSchedRtDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "CommSched/Dialect/Runtime/CommSchedRtAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "CommSched/Dialect/Runtime/CommSchedRtTypes.h.inc"

#define GET_OP_CLASSES
#include "CommSched/Dialect/Runtime/CommSchedRtOps.h.inc"

#endif // COMMSCHED_DIALECT_RUNTIME_COMMSCHEDRTDIALECT_H
