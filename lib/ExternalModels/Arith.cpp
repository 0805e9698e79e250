//===- Arith.cpp - Models of arith and math operations --------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Models.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::commsched::detail;

/// The elementwise operations of a dialect, on scalars (which cost nothing),
/// vectors and tensors alike.
template <typename DialectT>
static void attachElementwise(MLIRContext *context, DialectT *) {
  attachWhere<ElementwiseCost>(context, DialectT::getDialectNamespace(),
                               [](RegisteredOperationName name) {
                                 return name.hasTrait<OpTrait::Elementwise>();
                               });
}

void mlir::commsched::detail::registerArithModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *arith) {
    attachElementwise(context, arith);
  });
}

void mlir::commsched::detail::registerMathModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *math) {
    attachElementwise(context, math);
  });
}
