//===- Linalg.cpp - Models of linalg operations ---------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Models.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::linalg;
using namespace mlir::commsched;
using namespace mlir::commsched::detail;

/// Bytes that are read through the operands that `isRead` accepts plus those
/// written to the destinations; none when a size is not static.
static std::optional<int64_t>
getDestinationStyleBytes(DestinationStyleOpInterface op,
                         llvm::function_ref<bool(OpOperand &)> isRead) {
  int64_t total = 0;
  for (OpOperand &operand : op->getOpOperands()) {
    int64_t passes = isRead(operand) ? 1 : 0;
    if (op.isDpsInit(&operand))
      ++passes;
    if (passes == 0)
      continue;
    std::optional<int64_t> bytes = getMultipleOfBytes(operand.get(), passes);
    if (!bytes || llvm::AddOverflow(total, *bytes, total))
      return std::nullopt;
  }
  return total;
}

/// Whether `op` multiplies matrices or convolves: a pooling, which MLIR also
/// calls a convolution, has a window that it does not read.
static bool isMatrixProduct(LinalgOp op) {
  return isaContractionOpInterface(op) ||
         (isaConvolutionOpInterface(op) &&
          op.payloadUsesValueFromOperand(op.getDpsInputOperand(1)));
}

/// Whether `op`, which has no reduction, computes nothing and puts elements
/// into other places.
static bool movesElements(LinalgOp op) {
  if (!llvm::hasSingleElement(*op.getBlock()))
    return false;
  AffineMap written = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  return llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *read) {
    return isa<ShapedType>(read->get().getType()) &&
           op.getMatchingIndexingMap(read) != written;
  });
}

/// The ranges of the loops, dynamic where they are not known.
static SmallVector<int64_t> getLoopRanges(LinalgOp op) {
  SmallVector<int64_t> sizes;
  for (Type type : getSizedTypes(op->getOperands()))
    if (auto shaped = dyn_cast<ShapedType>(type))
      llvm::append_range(sizes, shaped.getShape());
  return op.getShapesToLoopsMap().compose(sizes);
}

namespace {
/// Any operation that is a loop nest around a body: the arithmetic of the body
/// in every iteration, and each operand moved once. An operand that the body
/// does not use (the window of a pooling, the destination of a pure write) is
/// not read.
struct StructuredCost
    : CostOpInterface::ExternalModel<StructuredCost, LinalgOp> {
  std::optional<double> getFlopCount(Operation *op) const {
    auto structured = cast<LinalgOp>(op);
    double iterations = 1;
    for (int64_t range : getLoopRanges(structured)) {
      if (ShapedType::isDynamic(range))
        return std::nullopt;
      iterations *= static_cast<double>(range);
    }
    return iterations * countBodyArithmetic(*structured.getBlock());
  }

  std::optional<int64_t> getMovedBytes(Operation *op) const {
    auto structured = cast<LinalgOp>(op);
    return getDestinationStyleBytes(
        cast<DestinationStyleOpInterface>(op), [&](OpOperand &operand) {
          return structured.payloadUsesValueFromOperand(&operand);
        });
  }
};

/// Reads the inputs and overwrites the destinations.
struct OverwriteCost
    : CostOpInterface::ExternalModel<OverwriteCost, Operation *> {
  std::optional<int64_t> getMovedBytes(Operation *op) const {
    auto style = cast<DestinationStyleOpInterface>(op);
    return getDestinationStyleBytes(
        style, [&](OpOperand &operand) { return style.isDpsInput(&operand); });
  }
};

/// A maximum, a difference, an exponential, a sum and a quotient for each
/// element; the input is read once and the destination overwritten.
struct SoftmaxCost : CostOpInterface::ExternalModel<SoftmaxCost, SoftmaxOp> {
  std::optional<double> getFlopCount(Operation *op) const {
    std::optional<double> elements =
        getElementCount(cast<SoftmaxOp>(op).getInput());
    return elements ? std::optional(5 * *elements) : std::nullopt;
  }
  std::optional<int64_t> getMovedBytes(Operation *op) const {
    return OverwriteCost().getMovedBytes(op);
  }
};

/// Any operation that is a loop nest around a body.
struct StructuredClass
    : OperatorClassOpInterface::ExternalModel<StructuredClass, LinalgOp> {
  OperatorClass getOperatorClass(Operation *op) const {
    auto structured = cast<LinalgOp>(op);
    if (isMatrixProduct(structured))
      return OperatorClass::ComputeIntensive;
    if (structured.getNumReductionLoops() == 0)
      return movesElements(structured) ? OperatorClass::DataMovement
                                       : OperatorClass::Pointwise;
    return cast<CostOpInterface>(op).isExpensive()
               ? OperatorClass::ComputeIntensive
               : OperatorClass::Reduction;
  }
};
} // namespace

// The Winograd transforms are priced by their bytes, as copies are: their few
// additions are never what limits them.
void mlir::commsched::detail::registerLinalgModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, LinalgDialect *linalg) {
    attachWhere<StructuredCost>(context, linalg->getNamespace(),
                                [](RegisteredOperationName name) {
                                  return name.hasInterface<LinalgOp>();
                                });
    attachWhere<StructuredClass>(context, linalg->getNamespace(),
                                 [](RegisteredOperationName name) {
                                   return name.hasInterface<LinalgOp>();
                                 });
    attachTo<FixedClass<OperatorClass::DataMovement>, PackOp, UnPackOp>(
        context);
    attachTo<OverwriteCost, PackOp, UnPackOp, WinogradFilterTransformOp,
             WinogradInputTransformOp, WinogradOutputTransformOp>(context);
    attachTo<SoftmaxCost, SoftmaxOp>(context);
  });
}
