//===- EntryFunction.h - Which function runs --------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The function of a module that is run, and the types of what it is given and
// gives back.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_COMMSCHED_RUN_ENTRYFUNCTION_H
#define COMMSCHED_TOOLS_COMMSCHED_RUN_ENTRYFUNCTION_H

#include "Values.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::commsched::run {

struct Argument {
  ValueType type;
  /// Whether its content means nothing after the step: a parameter whose
  /// storage the program itself grows and frees.
  bool scratch = false;
};

struct Signature {
  std::string name;
  std::vector<Argument> arguments;
  std::vector<ValueType> results;
};

/// The public function `name`; if that is empty, the only public one with a
/// body, or of several the only one with collectives. Otherwise fails, with a
/// text that lists the public functions.
llvm::Expected<func::FuncOp> findEntry(ModuleOp module, StringRef name);

/// Fails, with a text that names the argument or result, when it cannot be
/// passed.
llvm::Expected<Signature> getSignature(func::FuncOp function);

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_COMMSCHED_RUN_ENTRYFUNCTION_H
