//===- Tensor.cpp - Models of tensor operations ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Models.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::tensor;
using namespace mlir::commsched;
using namespace mlir::commsched::detail;

//===----------------------------------------------------------------------===//
// Costs
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

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// Whether `slice` has all of dimension `dim` of a tensor of type `whole`.
template <typename SliceOp>
static bool hasWholeDimension(SliceOp slice, RankedTensorType whole,
                              int64_t dim) {
  return slice.getStaticOffset(dim) == 0 && slice.getStaticStride(dim) == 1 &&
         !whole.isDynamicDim(dim) &&
         slice.getStaticSize(dim) == whole.getDimSize(dim);
}

/// Calls `add` for each dimension of the type `whole` that `slice` has all of,
/// with the dimension of the slice, whose type may have a lower rank.
template <typename SliceOp>
static void
forEachWholeDimension(SliceOp slice, RankedTensorType whole,
                      function_ref<void(int64_t whole, int64_t part)> add) {
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  int64_t part = 0;
  for (int64_t dim = 0, rank = whole.getRank(); dim < rank; ++dim) {
    if (dropped.test(dim))
      continue;
    if (hasWholeDimension(slice, whole, dim))
      add(dim, part);
    ++part;
  }
}

/// Creates a chunk of `slice` whose size in dimension `dim` is `count` times as
/// small.
template <typename SliceOp>
static Operation *createSliceChunk(SliceOp slice, OpBuilder &builder,
                                   ValueRange operands, TypeRange results,
                                   int64_t dim, int64_t count) {
  auto chunk =
      cast<SliceOp>(createWithTypes(builder, slice, operands, results));
  SmallVector<int64_t> sizes(slice.getStaticSizes());
  sizes[dim] /= count;
  chunk.setStaticSizes(sizes);
  return chunk;
}

namespace {
/// Without a value in every element, or with one that is everywhere the same.
struct UniformSplit
    : SplitOpInterface::ExternalModel<UniformSplit, Operation *> {
  SplitRule getSplitRule(Operation *op) const {
    return getElementwiseRule({}, op->getResultTypes());
  }
};

struct ExtractSliceSplit
    : SplitOpInterface::ExternalModel<ExtractSliceSplit, ExtractSliceOp> {
  SplitRule getSplitRule(Operation *op) const {
    auto slice = cast<ExtractSliceOp>(op);
    SplitRule rule;
    forEachWholeDimension(
        slice, slice.getSourceType(), [&](int64_t whole, int64_t part) {
          addParallelAxis(rule, op, {{0, whole}}, {{0, part}});
        });
    return rule;
  }

  Operation *createChunk(Operation *op, OpBuilder &builder, ValueRange operands,
                         TypeRange results, const SplitAxis &axis,
                         int64_t count) const {
    return createSliceChunk(cast<ExtractSliceOp>(op), builder, operands,
                            results, axis.operands.front().dim, count);
  }
};

/// The destination is the second operand, and has the dimensions of the result.
struct InsertSliceSplit
    : SplitOpInterface::ExternalModel<InsertSliceSplit, InsertSliceOp> {
  SplitRule getSplitRule(Operation *op) const {
    auto slice = cast<InsertSliceOp>(op);
    SplitRule rule;
    forEachWholeDimension(
        slice, slice.getType(), [&](int64_t whole, int64_t part) {
          addParallelAxis(rule, op, {{0, part}, {1, whole}}, {{0, whole}});
        });
    return rule;
  }

  Operation *createChunk(Operation *op, OpBuilder &builder, ValueRange operands,
                         TypeRange results, const SplitAxis &axis,
                         int64_t count) const {
    return createSliceChunk(cast<InsertSliceOp>(op), builder, operands, results,
                            axis.results.front().dim, count);
  }
};

template <typename ReshapeOp>
struct ReassociationSplit
    : SplitOpInterface::ExternalModel<ReassociationSplit<ReshapeOp>,
                                      ReshapeOp> {
  SplitRule getSplitRule(Operation *op) const {
    auto reshape = cast<ReshapeOp>(op);
    constexpr bool expands = std::is_same_v<ReshapeOp, ExpandShapeOp>;
    ArrayRef<int64_t> from = reshape.getSrcType().getShape();
    ArrayRef<int64_t> to = reshape.getResultType().getShape();
    SplitRule rule;
    for (auto [index, group] :
         llvm::enumerate(reshape.getReassociationIndices())) {
      int64_t dim = index, first = group.front(), size = group.size();
      if (expands)
        addReshapeAxes(rule, from.slice(dim, 1), dim, to.slice(first, size),
                       first);
      else
        addReshapeAxes(rule, from.slice(first, size), first, to.slice(dim, 1),
                       dim);
    }
    return rule;
  }

  Operation *createChunk(Operation *op, OpBuilder &builder, ValueRange operands,
                         TypeRange results, const SplitAxis &axis,
                         int64_t count) const {
    Operation *chunk = createWithTypes(builder, op, operands, results);
    if (auto expand = dyn_cast<ExpandShapeOp>(chunk)) {
      SmallVector<int64_t> shape(expand.getStaticOutputShape());
      shape[axis.results.front().dim] /= count;
      expand.setStaticOutputShape(shape);
    }
    return chunk;
  }
};

struct ConcatSplit : SplitOpInterface::ExternalModel<ConcatSplit, ConcatOp> {
  SplitRule getSplitRule(Operation *op) const {
    return getConcatenationRule(op, cast<ConcatOp>(op).getDim());
  }
};

/// The dimensions that are not padded, if the elements around are all the same.
struct PadSplit : SplitOpInterface::ExternalModel<PadSplit, PadOp> {
  SplitRule getSplitRule(Operation *op) const {
    auto pad = cast<PadOp>(op);
    SplitRule rule;
    if (pad.getConstantPaddingValue())
      addUntouchedAxes(rule, op, [&](int64_t dim) {
        return pad.getStaticLow()[dim] == 0 && pad.getStaticHigh()[dim] == 0;
      });
    return rule;
  }
};

/// Each row of indices gives a slice of the source.
struct GatherSplit : SplitOpInterface::ExternalModel<GatherSplit, GatherOp> {
  SplitRule getSplitRule(Operation *op) const {
    auto gather = cast<GatherOp>(op);
    SplitRule rule;
    for (int64_t dim = 0, rows = gather.getIndicesType().getRank() - 1;
         dim < rows; ++dim)
      addParallelAxis(rule, op, {{1, dim}}, {{0, dim}});
    return rule;
  }
};

/// Casts that change the type of the elements, or which sizes are static.
struct CastSplit : SplitOpInterface::ExternalModel<CastSplit, Operation *> {
  bool hasSplitRule(Operation *op) const {
    return givesRankedTensor(op) &&
           isa<RankedTensorType>(op->getOperand(0).getType());
  }
  SplitRule getSplitRule(Operation *op) const {
    SplitRule rule;
    addUntouchedAxes(rule, op, [](int64_t) { return true; });
    return rule;
  }
};
} // namespace

// concat, pad and scatter read all their operands and write their results,
// which is what an operation without a model is priced by.
void mlir::commsched::detail::attachTensorModels(MLIRContext *context) {
  attachTo<FirstOperandView, BitcastOp, CastOp, CollapseShapeOp, ExpandShapeOp,
           ExtractSliceOp, ReshapeOp>(context);
  attachTo<FreeCost, DimOp, EmptyOp, RankOp>(context);
  attachTo<CopyIntoCost, InsertSliceOp, ParallelInsertSliceOp>(context);
  attachTo<OneElementCost, ExtractOp, InsertOp>(context);
  attachTo<ResultsOnlyCost, FromElementsOp, SplatOp>(context);
  attachTo<SelectionCost, GatherOp>(context);
  attachTo<GenerateCost, GenerateOp>(context);

  // The shape of a tensor is there without the tensor.
  attachTo<FixedClass<OperatorClass::Constant>, DimOp, EmptyOp, RankOp>(
      context);
  attachTo<FixedClass<OperatorClass::Pointwise>, GenerateOp, SplatOp>(context);
  attachTo<FixedClass<OperatorClass::Concatenation>, ConcatOp>(context);
  attachTo<FixedClass<OperatorClass::DataMovement>, ExtractOp, FromElementsOp,
           GatherOp, InsertOp, InsertSliceOp, PadOp>(context);

  attachTo<CastSplit, BitcastOp, CastOp>(context);
  attachTo<ConcatSplit, ConcatOp>(context);
  attachTo<ExtractSliceSplit, ExtractSliceOp>(context);
  attachTo<GatherSplit, GatherOp>(context);
  attachTo<InsertSliceSplit, InsertSliceOp>(context);
  attachTo<PadSplit, PadOp>(context);
  attachTo<ReassociationSplit<CollapseShapeOp>, CollapseShapeOp>(context);
  attachTo<ReassociationSplit<ExpandShapeOp>, ExpandShapeOp>(context);
  attachTo<UniformSplit, EmptyOp, SplatOp>(context);
}
