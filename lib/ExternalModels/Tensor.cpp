//===- Tensor.cpp - Models of tensor operations ---------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Models.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::tensor;
using namespace mlir::commsched;
using namespace mlir::commsched::detail;

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
    std::optional<double> elements = getElementCount(generate.getType());
    if (!elements)
      return std::nullopt;
    return *elements * countBodyArithmetic(generate.getBody().front());
  }
  std::optional<int64_t> getMovedBytes(Operation *op) const {
    return getStaticBytes(op->getResultTypes());
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
