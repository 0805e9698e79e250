//===- LinkedFunctions.h - Functions of a step -------------------*- C++
//-*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the functions of a module that `commsched.source` links to one step.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_STEP_LINKEDFUNCTIONS_H
#define COMMSCHED_LIB_TRANSFORMS_STEP_LINKEDFUNCTIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"

namespace mlir::commsched {

/// Returns the functions that links join, in the order of the module. Empty,
/// after a call of `decline` with the place and the reason, if there are none
/// or one, if they are of several steps, or if one has several blocks or is a
/// part of a steady state. Linear in the arguments.
SmallVector<func::FuncOp>
findLinkedFunctions(ModuleOp module,
                    function_ref<void(Location, const Twine &)> decline);

/// Removes what links `function` to others.
void unlink(func::FuncOp function);

/// Erases functions that another one replaces, or makes those private that
/// something still refers to; one of these that is called `name` gets another
/// name. They are unlinked before.
void eraseReplaced(ArrayRef<func::FuncOp> functions, StringRef name,
                   SymbolTable &symbols);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_STEP_LINKEDFUNCTIONS_H
