//===- ProgramJson.h - Modules as JSON --------------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes a module as JSON for programs that put a schedule back into the graph
// that it came from: groups, functions, and operations in program order with
// the values that they take and give. docs/reference/program-json.md lists the
// keys.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_REPORT_PROGRAMJSON_H
#define COMMSCHED_REPORT_PROGRAMJSON_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::commsched {

/// Writes `module` as one JSON object on one line. Accepts every module: types
/// and attributes without a JSON form are written as MLIR text. Linear in the
/// operations and their attributes.
void writeProgram(raw_ostream &os, ModuleOp module);

} // namespace mlir::commsched

#endif // COMMSCHED_REPORT_PROGRAMJSON_H
