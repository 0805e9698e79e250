//===- StepAttributes.h - Attributes of steps that repeat -------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A training step is a function that repeats: `commsched.carried` on an
// argument is the number of the result that the next repetition takes. Or it is
// several functions, in the order of the module: `commsched.source` on an
// argument names the result that feeds it. The dialect verifies both.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_DIALECT_STEPATTRIBUTES_H
#define COMMSCHED_DIALECT_STEPATTRIBUTES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include <optional>

namespace mlir::commsched {

/// On an argument: the number of the result of its function that the next
/// repetition takes in its place.
inline constexpr llvm::StringLiteral carriedAttrName = "commsched.carried";

/// The result that feeds an argument in the next repetition, if one does.
std::optional<unsigned> getCarriedResult(FunctionOpInterface function,
                                         unsigned argument);

/// Sets the result that feeds an argument in the next repetition.
void setCarriedResult(FunctionOpInterface function, unsigned argument,
                      unsigned result);

/// The attributes, perhaps none, of an argument in a function that does not
/// repeat: whoever calls it hands over what a repetition would.
DictionaryAttr dropCarried(DictionaryAttr attrs);

/// Verifies the `commsched.carried` of an argument but for other arguments that
/// take the same result.
LogicalResult verifyCarried(Operation *op, unsigned argument, Attribute attr);

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

/// Makes the verifier of symbol tables check that `func.func` carries no result
/// into two arguments, and its links.
void registerStepVerifier(MLIRContext &context);

} // namespace mlir::commsched

#endif // COMMSCHED_DIALECT_STEPATTRIBUTES_H
