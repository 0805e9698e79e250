//===- Tosa.cpp - Models of tosa operations -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Models.h"

#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/Dialect/Tosa/Utils/ConversionUtils.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::detail;

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// The rank of operand 0; 0 if it is not known.
static int64_t getInputRank(Operation *op) {
  auto type = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  return type ? type.getRank() : 0;
}

static int64_t getAxis(Operation *op) {
  return op->getAttrOfType<IntegerAttr>("axis").getInt();
}

/// Operand 0 element by element; the others hold parameters.
static SplitRule getUnaryRule(Operation *op) {
  return getElementwiseRule(op->getOperands().take_front(1).getTypes(),
                            op->getResultTypes());
}

/// The third operand is a shift.
static SplitRule getMulRule(Operation *op) {
  return getElementwiseRule(op->getOperands().take_front(2).getTypes(),
                            op->getResultTypes());
}

/// The multipliers are those of the last dimension's elements, if there are
/// several.
static SplitRule getRescaleRule(Operation *op) {
  SplitRule rule;
  int64_t last = getInputRank(op) - 1;
  bool isPerChannel = cast<tosa::RescaleOp>(op).getPerChannel();
  addUntouchedAxes(rule, op,
                   [&](int64_t dim) { return !isPerChannel || dim != last; });
  return rule;
}

/// The rows and columns of each product; the inner dimension is summed over.
static SplitRule getMatmulRule(Operation *op) {
  SplitRule rule;
  addParallelAxis(rule, op, {{0, 0}, {1, 0}}, {{0, 0}});
  addParallelAxis(rule, op, {{0, 1}}, {{0, 1}});
  addParallelAxis(rule, op, {{1, 2}}, {{0, 2}});
  addSumAxis(rule.axes, op, {{0, 2}, {1, 1}});
  return rule;
}

/// The batch, and the channels of the output: weights are
/// [out, window..., in]. One bias may be that of all channels.
static SplitRule getConvolutionRule(Operation *op) {
  SplitRule rule;
  addParallelAxis(rule, op, {{0, 0}}, {{0, 0}});
  int64_t channels = getInputRank(op) - 1;
  SmallVector<DimOfValue> operands = {{1, 0}};
  if (getStaticSize(op->getOperand(2), 0) != 1)
    operands.push_back({2, 0});
  if (channels > 0)
    addParallelAxis(rule, op, operands, {{0, channels}});
  return rule;
}

/// The batch.
static SplitRule getBatchRule(Operation *op) {
  SplitRule rule;
  addParallelAxis(rule, op, {{0, 0}}, {{0, 0}});
  return rule;
}

/// The batch and the channels of a pooling.
static SplitRule getPoolingRule(Operation *op) {
  SplitRule rule = getBatchRule(op);
  addParallelAxis(rule, op, {{0, 3}}, {{0, 3}});
  return rule;
}

/// Every dimension but `axis`.
static SplitRule getAlongAxisRule(Operation *op) {
  SplitRule rule;
  addUntouchedAxes(rule, op, [&](int64_t dim) { return dim != getAxis(op); });
  return rule;
}

static SplitRule getReduceSumRule(Operation *op) {
  SplitRule rule = getAlongAxisRule(op);
  addSumAxis(rule.axes, op, {{0, getAxis(op)}});
  return rule;
}

/// The result lacks the dimension `axis`.
static SplitRule getArgMaxRule(Operation *op) {
  SplitRule rule;
  int64_t axis = getAxis(op);
  for (int64_t dim = 0, rank = getInputRank(op); dim < rank; ++dim)
    if (dim != axis)
      addParallelAxis(rule, op, {{0, dim}}, {{0, dim < axis ? dim : dim - 1}});
  return rule;
}

static SplitRule getConcatRule(Operation *op) {
  return getConcatenationRule(op, getAxis(op));
}

static SplitRule getTransposeRule(Operation *op) {
  SplitRule rule;
  for (auto [to, from] :
       llvm::enumerate(cast<tosa::TransposeOp>(op).getPerms()))
    addParallelAxis(rule, op, {{0, from}}, {{0, static_cast<int64_t>(to)}});
  return rule;
}

/// The values of the shape that operand `index` of `op` is, one for each
/// dimension of operand 0; empty if they are not constant.
static SmallVector<int64_t> getShapeOperand(Operation *op, unsigned index) {
  SmallVector<int64_t> values;
  Operation *shape = op->getOperand(index).getDefiningOp();
  if (!shape || !tosa::getConstShapeValues(shape, values))
    return {};
  return values;
}

static SplitRule getPadRule(Operation *op) {
  SmallVector<int64_t> padding = getShapeOperand(op, 1);
  SplitRule rule;
  addUntouchedAxes(rule, op, [&](int64_t dim) {
    size_t low = 2 * dim;
    return low + 1 < padding.size() && padding[low] == 0 &&
           padding[low + 1] == 0;
  });
  return rule;
}

static SplitRule getSliceRule(Operation *op) {
  SmallVector<int64_t> starts = getShapeOperand(op, 1);
  SmallVector<int64_t> sizes = getShapeOperand(op, 2);
  SplitRule rule;
  addUntouchedAxes(rule, op, [&](int64_t dim) {
    size_t index = dim;
    return index < starts.size() && index < sizes.size() &&
           starts[index] == 0 &&
           sizes[index] == getStaticSize(op->getOperand(0), dim);
  });
  return rule;
}

/// A dimension of the result holds the operand's several times.
static SplitRule getTileRule(Operation *op) {
  SplitRule rule;
  SmallVector<int64_t> multiples = getShapeOperand(op, 1);
  for (auto [index, multiple] : llvm::enumerate(multiples)) {
    int64_t dim = index;
    std::optional<int64_t> size = getStaticSize(op->getOperand(0), dim);
    std::optional<int64_t> tiled = getStaticSize(op->getResult(0), dim);
    if (size && tiled && *tiled == *size * multiple)
      rule.axes.push_back({*size,
                           SplitAxisKind::Parallel,
                           {AxisPlace{0, dim, 1}},
                           {AxisPlace{0, dim, multiple}}});
  }
  return rule;
}

static SplitRule getReshapeRule(Operation *op) {
  SplitRule rule;
  auto from = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  auto to = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (from && to)
    addReshapeAxes(rule, from.getShape(), 0, to.getShape(), 0);
  return rule;
}

/// For each batch, rows of `values` by their numbers.
static SplitRule getGatherRule(Operation *op) {
  SplitRule rule;
  addParallelAxis(rule, op, {{0, 0}, {1, 0}}, {{0, 0}});
  addParallelAxis(rule, op, {{1, 1}}, {{0, 1}});
  addParallelAxis(rule, op, {{0, 2}}, {{0, 2}});
  return rule;
}

/// For each batch, rows of `values_in` are replaced by those of `input`. Two of
/// them may be the same row, so the rows are not divided.
static SplitRule getScatterRule(Operation *op) {
  SplitRule rule;
  addParallelAxis(rule, op, {{0, 0}, {1, 0}, {2, 0}}, {{0, 0}});
  addParallelAxis(rule, op, {{0, 2}, {2, 2}}, {{0, 2}});
  return rule;
}

namespace {
template <SplitRule (*getRule)(Operation *)>
struct RuleOf : SplitOpInterface::ExternalModel<RuleOf<getRule>, Operation *> {
  bool hasSplitRule(Operation *op) const { return givesRankedTensor(op); }
  SplitRule getSplitRule(Operation *op) const { return getRule(op); }
};

/// The last operand is the shape of the result.
template <SplitRule (*getRule)(Operation *)>
struct RuleWithShape
    : SplitOpInterface::ExternalModel<RuleWithShape<getRule>, Operation *> {
  bool hasSplitRule(Operation *op) const { return givesRankedTensor(op); }
  SplitRule getSplitRule(Operation *op) const { return getRule(op); }
  Operation *createChunk(Operation *op, OpBuilder &builder, ValueRange operands,
                         TypeRange results, const SplitAxis &axis,
                         int64_t) const {
    ArrayRef<int64_t> shape = cast<ShapedType>(results.front()).getShape();
    int64_t dim = axis.results.front().dim;
    SmallVector<int64_t> sizes = getShapeOperand(op, op->getNumOperands() - 1);
    if (sizes.size() == shape.size())
      sizes[dim] = shape[dim];
    else
      sizes.assign(shape.begin(), shape.end());
    SmallVector<Value> adapted(operands);
    adapted.back() = tosa::ConstShapeOp::create(
        builder, op->getLoc(), operands.back().getType(),
        builder.getIndexTensorAttr(sizes));
    return createWithTypes(builder, op, adapted, results);
  }
};
} // namespace

void mlir::commsched::detail::attachTosaModels(MLIRContext *context) {
  attachTo<FirstOperandView, tosa::IdentityOp, tosa::ReshapeOp>(context);

  attachTo<MatmulCost, tosa::MatMulOp>(context);
  attachTo<ConvolutionCost, tosa::Conv2DOp, tosa::Conv3DOp>(context);
  attachTo<DepthwiseConvolutionCost, tosa::DepthwiseConv2DOp>(context);
  attachTo<TransposedConvolutionCost, tosa::TransposeConv2DOp>(context);
  attachTo<PoolingCost<tosa::AvgPool2dOp>, tosa::AvgPool2dOp>(context);
  attachTo<PoolingCost<tosa::MaxPool2dOp>, tosa::MaxPool2dOp>(context);

  using Pointwise = FixedClass<OperatorClass::Pointwise>;
  attachWhere<tosa::TosaDialect, ElementwiseCost, Pointwise, ElementwiseSplit>(
      context, [](RegisteredOperationName name) {
        return name.hasTrait<OpTrait::tosa::TosaElementwiseOperator>();
      });
  attachTo<ElementwiseCost, tosa::MulOp, tosa::NegateOp, tosa::RescaleOp,
           tosa::TableOp>(context);
  attachTo<ReductionCost, tosa::ArgMaxOp, tosa::ReduceAllOp, tosa::ReduceAnyOp,
           tosa::ReduceMaxOp, tosa::ReduceMinOp, tosa::ReduceProductOp,
           tosa::ReduceSumOp>(context);
  attachTo<SelectionCost, tosa::GatherOp, tosa::SliceOp>(context);

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

  attachTo<RuleOf<getUnaryRule>, tosa::CastOp, tosa::IdentityOp, tosa::NegateOp,
           tosa::TableOp>(context);
  attachTo<RuleOf<getMulRule>, tosa::MulOp>(context);
  attachTo<RuleOf<getRescaleRule>, tosa::RescaleOp>(context);
  attachTo<RuleOf<getMatmulRule>, tosa::MatMulOp>(context);
  attachTo<RuleOf<getConvolutionRule>, tosa::Conv2DOp, tosa::Conv3DOp,
           tosa::TransposeConv2DOp>(context);
  attachTo<RuleOf<getBatchRule>, tosa::DepthwiseConv2DOp>(context);
  attachTo<RuleOf<getPoolingRule>, tosa::AvgPool2dOp, tosa::MaxPool2dOp>(
      context);
  attachTo<RuleOf<getAlongAxisRule>, tosa::ReduceAllOp, tosa::ReduceAnyOp,
           tosa::ReduceMaxOp, tosa::ReduceMinOp, tosa::ReduceProductOp,
           tosa::ReverseOp>(context);
  attachTo<RuleOf<getReduceSumRule>, tosa::ReduceSumOp>(context);
  attachTo<RuleOf<getArgMaxRule>, tosa::ArgMaxOp>(context);
  attachTo<RuleOf<getConcatRule>, tosa::ConcatOp>(context);
  attachTo<RuleOf<getTransposeRule>, tosa::TransposeOp>(context);
  attachTo<RuleOf<getPadRule>, tosa::PadOp>(context);
  attachTo<RuleOf<getTileRule>, tosa::TileOp>(context);
  attachTo<RuleOf<getGatherRule>, tosa::GatherOp>(context);
  attachTo<RuleOf<getScatterRule>, tosa::ScatterOp>(context);
  attachTo<RuleWithShape<getReshapeRule>, tosa::ReshapeOp>(context);
  attachTo<RuleWithShape<getSliceRule>, tosa::SliceOp>(context);
}
