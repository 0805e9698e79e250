//===- Passes.h - CommSched's passes ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TRANSFORMS_PASSES_H
#define COMMSCHED_TRANSFORMS_PASSES_H

#include "CommSched/Transforms/PassOptionEnums.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace mlir::commsched {

#define GEN_PASS_DECL
#include "CommSched/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "CommSched/Transforms/Passes.h.inc"

} // namespace mlir::commsched

#endif // COMMSCHED_TRANSFORMS_PASSES_H
