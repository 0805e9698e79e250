//===- LinkedStableHlo.cpp - StableHLO as a linked dialect ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "LinkedStableHloDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "LinkedStableHloAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "LinkedStableHloTypes.h.inc"

#define GET_OP_CLASSES
#include "LinkedStableHloOps.h.inc"

#include "LinkedStableHloDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "LinkedStableHloAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "LinkedStableHloTypes.cpp.inc"

#define GET_OP_CLASSES
#include "LinkedStableHloOps.cpp.inc"

using namespace mlir::linked_stablehlo;

void LinkedDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "LinkedStableHloAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "LinkedStableHloTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "LinkedStableHloOps.cpp.inc"
      >();
}

namespace mlir::linked_stablehlo {
void registerDialect(DialectRegistry &registry) {
  registry.insert<LinkedDialect>();
}
} // namespace mlir::linked_stablehlo
