//===- StepAttributes.h - Links between functions of a step -----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A training step is one function or several, in the order of the module, and
// repeats. `commsched.source` on an argument names the result that feeds it.
// The dialect verifies it.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_DIALECT_STEPATTRIBUTES_H
#define COMMSCHED_DIALECT_STEPATTRIBUTES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include <optional>

namespace mlir::commsched {

/// On an argument: the result of a function of the step that feeds it.
inline constexpr llvm::StringLiteral sourceAttrName = "commsched.source";

/// The keys of `commsched.source`.
inline constexpr llvm::StringLiteral sourceFunctionKey = "function";
inline constexpr llvm::StringLiteral sourceResultKey = "result";
inline constexpr llvm::StringLiteral sourceIterationsKey = "iterations";

/// What feeds an argument.
struct StepSource {
  /// `function`: the name of a function of the same module.
  StringAttr function;
  /// `result`: the number of its result.
  unsigned result = 0;
  /// `iterations`: 0 for the result in the same repetition of the step, 1 for
  /// that in the one before. The attribute has no such key for 0.
  unsigned iterations = 0;

  bool operator==(const StepSource &other) const {
    return function == other.function && result == other.result &&
           iterations == other.iterations;
  }
};

/// The source of an argument, if it has one.
std::optional<StepSource> getStepSource(FunctionOpInterface function,
                                        unsigned argument);

/// Sets the source of an argument, in place of an earlier one.
void setStepSource(FunctionOpInterface function, unsigned argument,
                   const StepSource &source);

/// Verifies the `commsched.source` of an argument as far as its function alone
/// determines whether it is valid.
LogicalResult verifyStepSource(Operation *op, unsigned argument,
                               Attribute attr);

/// Makes the verifier of symbol tables check the links of `func.func`.
void registerStepVerifier(MLIRContext &context);

} // namespace mlir::commsched

#endif // COMMSCHED_DIALECT_STEPATTRIBUTES_H
