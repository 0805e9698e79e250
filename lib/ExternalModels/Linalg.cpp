//===- Linalg.cpp - Models of linalg operations ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Models.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::linalg;
using namespace mlir::commsched;
using namespace mlir::commsched::detail;

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

static bool isZero(Attribute value) {
  if (auto number = dyn_cast_if_present<FloatAttr>(value))
    return number.getValue().isZero();
  if (auto number = dyn_cast_if_present<IntegerAttr>(value))
    return number.getValue().isZero();
  auto splat = dyn_cast_if_present<SplatElementsAttr>(value);
  if (!splat || isa<ComplexType>(splat.getElementType()))
    return false;
  return isZero(splat.getSplatValue<Attribute>());
}

/// Whether all elements of `tensor` are zero.
static bool isFilledWithZeros(Value tensor) {
  if (auto fill = tensor.getDefiningOp<FillOp>())
    tensor = fill.getInputs().front();
  Attribute value;
  return matchPattern(tensor, m_Constant(&value)) && isZero(value);
}

/// Whether `op` adds up over its reduction loops: each result is the sum of its
/// init and of a term for each iteration.
static bool addsUp(LinalgOp op) {
  ArrayRef<BlockArgument> outputs = op.getRegionOutputArgs();
  for (unsigned index = 0, end = outputs.size(); index < end; ++index) {
    SmallVector<Operation *> combiners;
    if (!matchReduction(outputs, index, combiners) || combiners.size() != 1 ||
        !isa<arith::AddFOp, arith::AddIOp, complex::AddOp>(combiners.front()))
      return false;
  }
  return true;
}

/// The loops whose index the body reads.
static llvm::SmallBitVector getReadLoops(LinalgOp op) {
  llvm::SmallBitVector loops(op.getNumLoops());
  op.getBlock()->walk([&](IndexOp index) { loops.set(index.getDim()); });
  return loops;
}

/// The dimensions of operands that loop `loop` runs over; none if the index of
/// a dimension depends on it in another way.
static std::optional<SmallVector<DimOfValue>> getDimensions(LinalgOp op,
                                                            unsigned loop) {
  SmallVector<DimOfValue> dimensions;
  for (OpOperand &operand : op->getOpOperands()) {
    bool isFound = false;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
      if (!expr.isFunctionOfDim(loop))
        continue;
      if (isFound || !isa<AffineDimExpr>(expr))
        return std::nullopt;
      isFound = true;
      dimensions.push_back({operand.getOperandNumber(), dim});
    }
  }
  return dimensions;
}

/// Adds loop `loop` to `rule`, if it can be divided.
static void addLoop(SplitRule &rule, LinalgOp op, unsigned loop,
                    utils::IteratorType type) {
  std::optional<SmallVector<DimOfValue>> operands = getDimensions(op, loop);
  if (!operands)
    return;
  SmallVector<DimOfValue> results;
  for (auto [operand, dim] : *operands)
    if (OpOperand &init = op->getOpOperand(operand); op.isDpsInit(&init))
      results.push_back({op.getTiedOpResult(&init).getResultNumber(), dim});
  if (type == utils::IteratorType::parallel &&
      results.size() == op->getNumResults())
    addParallelAxis(rule, op, *operands, results);
  else if (type == utils::IteratorType::reduction && results.empty() &&
           addsUp(op)) {
    // Chunks of a sum from zero give partial sums.
    if (llvm::all_of(op.getDpsInits(), isFilledWithZeros))
      addSumAxis(rule.axes, op, *operands);
    else
      addSumAxis(rule.wholeSums, op, *operands);
  }
}

namespace {
/// Any operation that is a loop nest around a body. A loop is an axis if it is
/// the index of dimensions.
struct StructuredSplit
    : SplitOpInterface::ExternalModel<StructuredSplit, LinalgOp> {
  bool hasSplitRule(Operation *op) const {
    return cast<LinalgOp>(op).hasPureTensorSemantics() &&
           op->getNumResults() != 0 &&
           llvm::all_of(*cast<LinalgOp>(op).getBlock(), [](Operation &inner) {
             return isMemoryEffectFree(&inner);
           });
  }

  SplitRule getSplitRule(Operation *op) const {
    auto structured = cast<LinalgOp>(op);
    llvm::SmallBitVector readLoops = getReadLoops(structured);
    SplitRule rule;
    for (auto [loop, type] :
         llvm::enumerate(structured.getIteratorTypesArray()))
      if (!readLoops.test(loop))
        addLoop(rule, structured, loop, type);
    return rule;
  }
};

struct SoftmaxSplit : SplitOpInterface::ExternalModel<SoftmaxSplit, SoftmaxOp> {
  bool hasSplitRule(Operation *op) const { return givesRankedTensor(op); }

  SplitRule getSplitRule(Operation *op) const {
    auto softmax = cast<SoftmaxOp>(op);
    SplitRule rule;
    int64_t normalized = softmax.getDimension();
    for (int64_t dim = 0, rank = softmax.getInputOperandRank(); dim < rank;
         ++dim)
      if (dim != normalized)
        addParallelAxis(rule, op, {{0, dim}, {1, dim}}, {{0, dim}});
    return rule;
  }
};
} // namespace

// The Winograd transforms are priced by their bytes, as copies are: their few
// additions are never what limits them.
void mlir::commsched::detail::attachLinalgModels(MLIRContext *context) {
  attachWhere<LinalgDialect, StructuredCost, StructuredClass, StructuredSplit>(
      context, [](RegisteredOperationName name) {
        return name.hasInterface<LinalgOp>();
      });
  attachTo<FixedClass<OperatorClass::DataMovement>, PackOp, UnPackOp>(context);
  attachTo<OverwriteCost, PackOp, UnPackOp, WinogradFilterTransformOp,
           WinogradInputTransformOp, WinogradOutputTransformOp>(context);
  attachTo<SoftmaxCost, SoftmaxOp>(context);
  attachTo<SoftmaxSplit, SoftmaxOp>(context);
}
