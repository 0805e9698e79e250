//===- StepAttributes.h - Attributes of steps that repeat -------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A training step is a function that repeats: `commsched.carried` on an
// argument is the number of the result that the next repetition takes. The
// dialect verifies it.
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

/// Makes the verifier of symbol tables check that `func.func` carries no result
/// into two arguments.
void registerStepVerifier(MLIRContext &context);

} // namespace mlir::commsched

#endif // COMMSCHED_DIALECT_STEPATTRIBUTES_H
