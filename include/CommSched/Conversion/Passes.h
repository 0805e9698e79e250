//===- Passes.h - CommSched's conversions -----------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The passes that convert between `commsched` and other dialects: creation and
// registration. What they do is described in Passes.td.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_CONVERSION_PASSES_H
#define COMMSCHED_CONVERSION_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir::commsched {

#define GEN_PASS_DECL
#include "CommSched/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "CommSched/Conversion/Passes.h.inc"

} // namespace mlir::commsched

#endif // COMMSCHED_CONVERSION_PASSES_H
