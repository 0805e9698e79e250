//===- JoinedFunction.h - Several functions in one --------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Creates a function whose body is the operations of several functions, one
// after the other. The functions stay as they are.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_STEP_JOINEDFUNCTION_H
#define COMMSCHED_LIB_TRANSFORMS_STEP_JOINEDFUNCTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::commsched {

/// An argument or a result of one of the functions that are joined.
struct JoinedPort {
  /// The index of the function.
  unsigned part = 0;
  unsigned index = 0;
};

/// What one argument of a function becomes.
struct JoinedOperand {
  /// An argument of the joined function, or none.
  std::optional<unsigned> argument;
  /// Else this result of an earlier function.
  JoinedPort result;
};

/// How functions become one.
struct FunctionJoin {
  /// Each has one block, which a `func.return` ends.
  SmallVector<func::FuncOp> parts;
  /// By function: what comes in front of names that are taken.
  SmallVector<std::string> prefixes;
  /// By function and argument: what it becomes, of the same type.
  SmallVector<SmallVector<JoinedOperand>> operands;
  /// By argument of the joined function: where its type and attributes are
  /// from.
  SmallVector<JoinedPort> arguments;
  /// The results of the joined function.
  SmallVector<JoinedPort> results;
};

/// Whether `function` has a body of one block that a `func.return` ends.
bool hasLoneBlock(func::FuncOp function);

/// Emits the error of `makeError` at the module, with a note at the symbol, if
/// the module has the symbol `name` and it is none of the functions `replaced`.
LogicalResult checkNewSymbol(ModuleOp module, StringRef name,
                             ArrayRef<func::FuncOp> replaced,
                             function_ref<std::string()> makeError);

/// Creates the function `name`, which is in no module yet, with the visibility
/// of the first part. The body is the operations of the parts in their order.
/// Arguments and results keep their attributes, but for `commsched.source`. The
/// function gets the attributes that hold for all parts alike, but none that
/// links functions or says something of the whole body.
///
/// Where an operation has a `commsched.name` that an operation of an earlier
/// part has, the prefix of its part and a dot come in front of it, and a number
/// behind it if that is taken, too; likewise the name of what is in chunks
/// (`commsched.chunk`). Linear in the operations.
func::FuncOp joinFunctions(const FunctionJoin &join, StringRef name);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_STEP_JOINEDFUNCTION_H
