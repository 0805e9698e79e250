//===- ExternalModels.cpp - Models of arith, math, tensor, bufferization --===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Models.h"
#include "Split/SplitModels.h"

#include "CommSched/ExternalModels/Register.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/CastInterfaces.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::detail;
using namespace mlir::bufferization;
using namespace mlir::tensor;

//===----------------------------------------------------------------------===//
// Shared models
//===----------------------------------------------------------------------===//

bool mlir::commsched::detail::isElementwiseArithmetic(Operation *op) {
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
// arith and math
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// bufferization
//===----------------------------------------------------------------------===//

namespace {
/// Free, unless it starts with the content of another tensor.
struct AllocTensorCost
    : CostOpInterface::ExternalModel<AllocTensorCost, AllocTensorOp> {
  std::optional<int64_t> getMovedBytes(Operation *op) const {
    Value copy = cast<AllocTensorOp>(op).getCopy();
    return copy ? getMultipleOfBytes(copy, /*times=*/2) : 0;
  }
};
} // namespace

void mlir::commsched::detail::registerBufferizationModels(
    DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, BufferizationDialect *) {
    attachTo<FirstOperandView, ToTensorOp, ToBufferOp>(context);
    attachTo<FreeCost, DeallocTensorOp, DeallocOp>(context);
    attachTo<CopyIntoCost, CloneOp, MaterializeInDestinationOp>(context);
    attachTo<AllocTensorCost, AllocTensorOp>(context);
  });
}

//===----------------------------------------------------------------------===//
// tensor
//===----------------------------------------------------------------------===//

namespace {
/// One element is read, or written in place.
struct OneElementCost
    : CostOpInterface::ExternalModel<OneElementCost, Operation *> {
  std::optional<int64_t> getMovedBytes(Operation *op) const {
    Type tensor = isa<InsertOp>(op) ? op->getResult(0).getType()
                                    : op->getOperand(0).getType();
    return getStaticBytes(RankedTensorType::get(
        {}, cast<RankedTensorType>(tensor).getElementType()));
  }
};

/// Writes the result, with the arithmetic of the body for each element.
struct GenerateCost : CostOpInterface::ExternalModel<GenerateCost, GenerateOp> {
  std::optional<double> getFlopCount(Operation *op) const {
    auto generate = cast<GenerateOp>(op);
    std::optional<double> elements = getElementCount(generate.getResult());
    if (!elements)
      return std::nullopt;
    return *elements * countBodyArithmetic(generate.getBody().front());
  }
  std::optional<int64_t> getMovedBytes(Operation *op) const {
    return getMultipleOfBytes(op->getResults(), /*times=*/1);
  }
  Type getComputeType(Operation *op) const {
    return cast<GenerateOp>(op).getType().getElementType();
  }
};
} // namespace

// concat, pad and scatter read all their operands and write their results,
// which is what an operation without a model is priced by.
void mlir::commsched::detail::registerTensorModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, TensorDialect *) {
    attachTo<FirstOperandView, BitcastOp, CastOp, CollapseShapeOp,
             ExpandShapeOp, ExtractSliceOp, ReshapeOp>(context);
    attachTo<FreeCost, DimOp, EmptyOp, RankOp>(context);
    attachTo<CopyIntoCost, InsertSliceOp, ParallelInsertSliceOp>(context);
    attachTo<OneElementCost, ExtractOp, InsertOp>(context);
    attachTo<ResultsOnlyCost, FromElementsOp, SplatOp>(context);
    attachTo<SelectionCost, GatherOp>(context);
    attachTo<GenerateCost, GenerateOp>(context);

    // The shape of a tensor is there without the tensor.
    attachTo<FixedClass<OperatorClass::Constant>, DimOp, EmptyOp, RankOp>(
        context);
    attachTo<FixedClass<OperatorClass::Pointwise>, GenerateOp, SplatOp>(
        context);
    attachTo<FixedClass<OperatorClass::Concatenation>, ConcatOp>(context);
    attachTo<FixedClass<OperatorClass::DataMovement>, ExtractOp, FromElementsOp,
             GatherOp, InsertOp, InsertSliceOp, PadOp>(context);
  });
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

void mlir::commsched::registerExternalModels(DialectRegistry &registry) {
  detail::registerArithModels(registry);
  detail::registerBufferizationModels(registry);
  detail::registerLinalgModels(registry);
  detail::registerMathModels(registry);
  detail::registerTensorModels(registry);
  detail::registerTosaModels(registry);
  detail::registerArithSplitModels(registry);
  detail::registerLinalgSplitModels(registry);
  detail::registerMathSplitModels(registry);
  detail::registerTensorSplitModels(registry);
  detail::registerTosaSplitModels(registry);
}
