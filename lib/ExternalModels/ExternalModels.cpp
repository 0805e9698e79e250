//===- ExternalModels.cpp - Models of arith, bufferization and math -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Models.h"

#include "CommSched/ExternalModels/Register.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/CastInterfaces.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::detail;
using namespace mlir::bufferization;

//===----------------------------------------------------------------------===//
// Shared models
//===----------------------------------------------------------------------===//

/// True if `op` does arithmetic on the elements of its operands: it is
/// elementwise, but neither a constant nor a conversion between types.
static bool isElementwiseArithmetic(Operation *op) {
  return op->hasTrait<OpTrait::Elementwise>() &&
         !op->hasTrait<OpTrait::ConstantLike>() && !isa<CastOpInterface>(op);
}

int64_t mlir::commsched::detail::countBodyArithmetic(Block &body) {
  int64_t count = 0;
  body.walk([&](Operation *op) {
    if (!isElementwiseArithmetic(op) ||
        llvm::any_of(op->getResultTypes(), llvm::IsaPred<IndexType>))
      return;
    ++count;
  });
  return count;
}

std::optional<double>
mlir::commsched::detail::ElementwiseCost::getFlopCount(Operation *op) const {
  if (isa<CastOpInterface>(op))
    return 0;
  return getElementCount(op->getResult(0));
}

std::optional<int64_t>
mlir::commsched::detail::ResultsOnlyCost::getMovedBytes(Operation *op) const {
  return getMultipleOfBytes(op->getResults(), /*times=*/1);
}

std::optional<int64_t>
mlir::commsched::detail::CopyIntoCost::getMovedBytes(Operation *op) const {
  return getMultipleOfBytes(op->getOperand(0), /*times=*/2);
}

//===----------------------------------------------------------------------===//
// arith, math and bufferization
//===----------------------------------------------------------------------===//

namespace {
/// A constant with one value for all elements.
struct ConstantSplit
    : SplitOpInterface::ExternalModel<ConstantSplit, arith::ConstantOp> {
  bool hasSplitRule(Operation *op) const {
    return isa<SplatElementsAttr>(cast<arith::ConstantOp>(op).getValue()) &&
           givesRankedTensor(op);
  }
  SplitRule getSplitRule(Operation *op) const {
    return getElementwiseRule({}, op->getResultTypes());
  }
  Operation *createChunk(Operation *op, OpBuilder &builder, ValueRange operands,
                         TypeRange results, const SplitAxis &, int64_t) const {
    Operation *chunk = createWithTypes(builder, op, operands, results);
    auto value =
        cast<SplatElementsAttr>(cast<arith::ConstantOp>(op).getValue());
    cast<arith::ConstantOp>(chunk).setValueAttr(
        value.resizeSplat(cast<ShapedType>(results.front())));
    return chunk;
  }
};

/// Free, unless it starts with the content of another tensor.
struct AllocTensorCost
    : CostOpInterface::ExternalModel<AllocTensorCost, AllocTensorOp> {
  std::optional<int64_t> getMovedBytes(Operation *op) const {
    Value copy = cast<AllocTensorOp>(op).getCopy();
    return copy ? getMultipleOfBytes(copy, /*times=*/2) : 0;
  }
};
} // namespace

/// The elementwise operations of a dialect, on scalars (which cost nothing),
/// vectors and tensors alike.
template <typename DialectT>
static void attachElementwiseModels(MLIRContext *context) {
  auto isElementwise = [](RegisteredOperationName name) {
    return name.hasTrait<OpTrait::Elementwise>();
  };
  attachWhere<DialectT, ElementwiseCost>(context, isElementwise);
  attachWhere<DialectT, ElementwiseSplit>(
      context, [&](RegisteredOperationName name) {
        return isElementwise(name) && !name.hasTrait<OpTrait::ConstantLike>();
      });
}

static void attachArithModels(MLIRContext *context) {
  attachElementwiseModels<arith::ArithDialect>(context);
  attachTo<ConstantSplit, arith::ConstantOp>(context);
}

static void attachBufferizationModels(MLIRContext *context) {
  attachTo<FirstOperandView, ToTensorOp, ToBufferOp>(context);
  attachTo<FreeCost, DeallocTensorOp, DeallocOp>(context);
  attachTo<CopyIntoCost, CloneOp, MaterializeInDestinationOp>(context);
  attachTo<AllocTensorCost, AllocTensorOp>(context);
}

template <typename DialectT, void (*attach)(MLIRContext *)>
static void registerModels(DialectRegistry &registry) {
  registry.addExtension(
      +[](MLIRContext *context, DialectT *) { attach(context); });
}

void mlir::commsched::registerExternalModels(DialectRegistry &registry) {
  registerModels<arith::ArithDialect, attachArithModels>(registry);
  registerModels<BufferizationDialect, attachBufferizationModels>(registry);
  registerModels<linalg::LinalgDialect, attachLinalgModels>(registry);
  registerModels<math::MathDialect, attachElementwiseModels<math::MathDialect>>(
      registry);
  registerModels<tensor::TensorDialect, attachTensorModels>(registry);
  registerModels<tosa::TosaDialect, attachTosaModels>(registry);
}
