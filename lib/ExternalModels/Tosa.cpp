//===- Tosa.cpp - Models of tosa operations -------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Models.h"

#include "mlir/Dialect/Tosa/IR/TosaOps.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::detail;

/// The size of dimension `dim` of `value`; none when it is not known.
static std::optional<double> getDim(Value value, int64_t dim) {
  auto shaped = dyn_cast<ShapedType>(getSizedType(value));
  if (!shaped || !shaped.hasRank() || shaped.isDynamicDim(dim))
    return std::nullopt;
  return static_cast<double>(shaped.getDimSize(dim));
}

/// The product of counts, none of which may be missing.
static std::optional<double>
multiply(std::initializer_list<std::optional<double>> factors) {
  double product = 1;
  for (const std::optional<double> &factor : factors) {
    if (!factor)
      return std::nullopt;
    product *= *factor;
  }
  return product;
}

namespace {
/// One multiplication and one addition for each element of the result and of
/// the dimension that is summed over: the last one of the first operand.
struct MatmulCost : CostOpInterface::ExternalModel<MatmulCost, Operation *> {
  std::optional<double> getFlopCount(Operation *op) const {
    return multiply(
        {2, getElementCount(op->getResult(0)), getDim(op->getOperand(0), 2)});
  }
};

/// For each element of the result, a multiplication and an addition for each
/// weight that leads to its channel.
struct ConvolutionCost
    : CostOpInterface::ExternalModel<ConvolutionCost, Operation *> {
  std::optional<double> getFlopCount(Operation *op) const {
    Value weight = op->getOperand(1);
    auto type = dyn_cast<RankedTensorType>(weight.getType());
    if (!type)
      return std::nullopt;
    // Weights are [out, window..., in].
    std::optional<double> flops =
        multiply({2, getElementCount(op->getResult(0))});
    for (int64_t dim = 1; dim < type.getRank(); ++dim)
      flops = multiply({flops, getDim(weight, dim)});
    return flops;
  }
};

/// Each channel on its own: weights are [height, width, in, multiplier].
struct DepthwiseConvolutionCost
    : CostOpInterface::ExternalModel<DepthwiseConvolutionCost, Operation *> {
  std::optional<double> getFlopCount(Operation *op) const {
    Value weight = op->getOperand(1);
    return multiply({2, getElementCount(op->getResult(0)), getDim(weight, 0),
                     getDim(weight, 1)});
  }
};

/// Each element of the input is spread over a window of every output channel:
/// weights are [out, height, width, in].
struct TransposedConvolutionCost
    : CostOpInterface::ExternalModel<TransposedConvolutionCost, Operation *> {
  std::optional<double> getFlopCount(Operation *op) const {
    Value weight = op->getOperand(1);
    return multiply({2, getElementCount(op->getOperand(0)), getDim(weight, 0),
                     getDim(weight, 1), getDim(weight, 2)});
  }
};

/// One operation for each element of the operand.
struct ReductionCost
    : CostOpInterface::ExternalModel<ReductionCost, Operation *> {
  std::optional<double> getFlopCount(Operation *op) const {
    return getElementCount(op->getOperand(0));
  }
};

/// One operation for each element of the result and of the window.
template <typename OpT>
struct PoolingCost : CostOpInterface::ExternalModel<PoolingCost<OpT>, OpT> {
  std::optional<double> getFlopCount(Operation *op) const {
    ArrayRef<int64_t> kernel = cast<OpT>(op).getKernel();
    return multiply({getElementCount(op->getResult(0)),
                     static_cast<double>(kernel[0]),
                     static_cast<double>(kernel[1])});
  }
};
} // namespace

static void attachTosaModels(MLIRContext *context, tosa::TosaDialect *dialect) {
  attachTo<FirstOperandView, tosa::IdentityOp, tosa::ReshapeOp>(context);

  attachTo<MatmulCost, tosa::MatMulOp>(context);
  attachTo<ConvolutionCost, tosa::Conv2DOp, tosa::Conv3DOp>(context);
  attachTo<DepthwiseConvolutionCost, tosa::DepthwiseConv2DOp>(context);
  attachTo<TransposedConvolutionCost, tosa::TransposeConv2DOp>(context);
  attachTo<PoolingCost<tosa::AvgPool2dOp>, tosa::AvgPool2dOp>(context);
  attachTo<PoolingCost<tosa::MaxPool2dOp>, tosa::MaxPool2dOp>(context);

  auto isElementwise = [](RegisteredOperationName name) {
    return name.hasTrait<OpTrait::tosa::TosaElementwiseOperator>();
  };
  attachWhere<ElementwiseCost>(context, dialect->getNamespace(), isElementwise);
  attachTo<ElementwiseCost, tosa::MulOp, tosa::NegateOp, tosa::RescaleOp,
           tosa::TableOp>(context);
  attachTo<ReductionCost, tosa::ArgMaxOp, tosa::ReduceAllOp, tosa::ReduceAnyOp,
           tosa::ReduceMaxOp, tosa::ReduceMinOp, tosa::ReduceProductOp,
           tosa::ReduceSumOp>(context);
  attachTo<SelectionCost, tosa::GatherOp, tosa::SliceOp>(context);

  using Pointwise = FixedClass<OperatorClass::Pointwise>;
  attachWhere<Pointwise>(context, dialect->getNamespace(), isElementwise);
  attachTo<Pointwise, tosa::CastOp, tosa::MulOp, tosa::NegateOp,
           tosa::RescaleOp, tosa::TableOp>(context);
  attachTo<FixedClass<OperatorClass::Reduction>, tosa::ArgMaxOp,
           tosa::ReduceAllOp, tosa::ReduceAnyOp, tosa::ReduceMaxOp,
           tosa::ReduceMinOp, tosa::ReduceProductOp, tosa::ReduceSumOp>(
      context);
  attachTo<FixedClass<OperatorClass::DataMovement>, tosa::GatherOp, tosa::PadOp,
           tosa::ReverseOp, tosa::SliceOp, tosa::TileOp, tosa::TransposeOp>(
      context);
  attachTo<FixedClass<OperatorClass::Concatenation>, tosa::ConcatOp>(context);
  attachTo<FixedClass<OperatorClass::ComputeIntensive>, tosa::Conv2DOp,
           tosa::Conv3DOp, tosa::DepthwiseConv2DOp, tosa::MatMulOp,
           tosa::TransposeConv2DOp>(context);
}

void mlir::commsched::detail::registerTosaModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, tosa::TosaDialect *tosa) {
    attachTosaModels(context, tosa);
  });
}
