//===- InferSizeHints.cpp - Pass that passes size hints on ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/OperationTexts.h"
#include "CommSched/Analysis/Problem/Aliasing.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Transforms/Passes.h"
#include "PassSupport.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/CastInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/ShapedOpInterfaces.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_INFERSIZEHINTS
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// Results of operations
//===----------------------------------------------------------------------===//

/// `type` with `shape` in the place of its sizes; null if they contradict, or
/// if one of `shape` is not known.
static Type withShape(Type type, ArrayRef<int64_t> shape) {
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped || !shaped.hasRank() || ShapedType::isDynamicShape(shape) ||
      failed(verifyCompatibleShape(shaped.getShape(), shape)))
    return {};
  return shaped.clone(shape);
}

/// The same with the sizes of `value`.
static Type withSizesOf(Type type, Value value) {
  auto sized =
      dyn_cast_if_present<ShapedType>(value ? getSizedType(value) : Type());
  return sized && sized.hasRank() ? withShape(type, sized.getShape()) : Type();
}

/// The value of a size, which is dynamic if it is not known.
static int64_t evaluate(OpFoldResult size) {
  if (std::optional<int64_t> constant = getConstantIntValue(size))
    return *constant;
  auto dim = cast<Value>(size).getDefiningOp<ShapedDimOpInterface>();
  if (!dim)
    return ShapedType::kDynamic;
  int64_t index = getConstantIntValue(dim.getDimension()).value_or(-1);
  auto sized = dyn_cast<ShapedType>(getSizedType(dim.getShapedValue()));
  if (!sized || !sized.hasRank() || index < 0 || index >= sized.getRank())
    return ShapedType::kDynamic;
  return sized.getDimSize(index);
}

static Type withSizes(Type type, ArrayRef<OpFoldResult> sizes) {
  return withShape(type, llvm::map_to_vector(sizes, evaluate));
}

/// What a loop starts with where it passes on `result`; null for any other
/// operation.
static Value getLoopInit(OpResult result) {
  auto loop = dyn_cast<LoopLikeOpInterface>(result.getOwner());
  BlockArgument argument =
      loop ? loop.getTiedLoopRegionIterArg(result) : BlockArgument();
  OpOperand *init = argument ? loop.getTiedLoopInit(argument) : nullptr;
  return init ? init->get() : Value();
}

/// Whether all results of `op` have the shape of its operands.
static bool keepsShape(Operation *op) {
  return op->hasTrait<OpTrait::Elementwise>() ||
         op->hasTrait<OpTrait::SameOperandsAndResultShape>() ||
         op->hasTrait<OpTrait::SameOperandsAndResultType>() ||
         isa<CastOpInterface>(op);
}

/// The type of what `concat` gives, with the sizes of its operands.
static Type inferConcatType(tensor::ConcatOp concat) {
  SmallVector<int64_t> shape;
  for (Value input : concat.getInputs()) {
    auto sized = cast<RankedTensorType>(getSizedType(input));
    if (!sized.hasStaticShape())
      return {};
    if (shape.empty())
      shape = llvm::to_vector(sized.getShape());
    else
      shape[concat.getDim()] += sized.getDimSize(concat.getDim());
  }
  return withShape(concat.getType(), shape);
}

/// The type of `result` with its sizes, which follow from those of operands;
/// null if they are not known.
static Type inferType(OpResult result) {
  Operation *op = result.getOwner();
  Type type = result.getType();
  if (auto style = dyn_cast<DestinationStyleOpInterface>(op))
    if (OpOperand *tied = style.getTiedOpOperand(result))
      return withSizesOf(type, tied->get());
  if (auto empty = dyn_cast<tensor::EmptyOp>(op))
    return withSizes(type, empty.getMixedSizes());
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return withSizes(type, slice.getMixedSizes());
  if (auto concat = dyn_cast<tensor::ConcatOp>(op))
    return inferConcatType(concat);
  if (Value init = getLoopInit(result))
    return withSizesOf(type, init);
  if (keepsShape(op)) {
    for (Value operand : op->getOperands())
      if (Type sized = withSizesOf(type, operand))
        return sized;
    return {};
  }
  Value aliased = getAliasedValue(result);
  return aliased && aliased.getType() == type ? withSizesOf(type, aliased)
                                              : Type();
}

//===----------------------------------------------------------------------===//
// What collectives deliver
//===----------------------------------------------------------------------===//

/// The rows that an exchange with splits delivers where `rows` are sent: as
/// listed. Splits that are values are not known; what all ranks receive is what
/// all send, so that a rank is expected to receive as much as it sends. None if
/// that says nothing.
static std::optional<int64_t> getDeliveredRows(AllToAllOp exchange,
                                               int64_t rows) {
  if (exchange.getOutputSizes())
    return rows;
  std::optional<ArrayRef<int64_t>> splits = exchange.getOutputSplits();
  return splits ? std::optional(llvm::sum_of(*splits)) : std::nullopt;
}

/// The sizes of what `op` delivers where it is sent a tensor of `shape`, on a
/// group of `ranks`; empty if they are not known.
static SmallVector<int64_t>
inferDelivered(Operation *op, ArrayRef<int64_t> shape, int64_t ranks) {
  SmallVector<int64_t> delivered(shape);
  bool fits = true;
  auto multiply = [&](int64_t dim) {
    fits &= !llvm::MulOverflow(delivered[dim], ranks, delivered[dim]);
  };
  auto divide = [&](int64_t dim) {
    fits &= delivered[dim] % ranks == 0;
    delivered[dim] /= ranks;
  };
  if (auto gather = dyn_cast<AllGatherOp>(op)) {
    multiply(gather.getDim());
  } else if (auto scatter = dyn_cast<ReduceScatterOp>(op)) {
    divide(scatter.getDim());
  } else if (auto exchange = dyn_cast<AllToAllOp>(op);
             exchange && exchange.hasSplits()) {
    int64_t &rows = delivered[exchange.getConcatDim()];
    std::optional<int64_t> known = getDeliveredRows(exchange, rows);
    rows = known.value_or(0);
    fits = known.has_value();
  } else if (exchange) {
    divide(exchange.getSplitDim());
    multiply(exchange.getConcatDim());
  } else {
    fits = isa<AllReduceOp, BroadcastOp, PermuteOp, OffloadOp, ReloadOp>(op);
  }
  return fits ? delivered : SmallVector<int64_t>();
}

static SmallVector<Type> inferDelivered(CollectiveOpInterface start,
                                        SymbolTableCollection &symbolTables) {
  OperandRange into = start.getDestinations(), sent = start.getSentValues();
  FailureOr<ProcessGroup> group = start.getProcessGroup(symbolTables);
  SmallVector<Type> types = start.getDeliveredTypes();
  for (auto [index, type] : llvm::enumerate(types)) {
    if (index < into.size()) {
      type = withSizesOf(type, into[index]);
      continue;
    }
    auto sized = index < sent.size()
                     ? dyn_cast<ShapedType>(getSizedType(sent[index]))
                     : ShapedType();
    if (failed(group) || !sized || !sized.hasStaticShape()) {
      type = {};
      continue;
    }
    SmallVector<int64_t> shape =
        inferDelivered(start, sized.getShape(), group->size);
    type = withShape(type, shape);
  }
  return types;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct InferSizeHints
    : mlir::commsched::impl::InferSizeHintsBase<InferSizeHints> {
  void runOnOperation() override {
    changed = false;
    ScanningSymbolTables tables;
    symbolTables = &tables;
    for (Region &region : getOperation()->getRegions())
      visit(region);
    if (!changed)
      markAllAnalysesPreserved();
  }

private:
  void visit(Region &region) {
    for (Operation &op : region.getOps())
      visit(&op);
  }
  void visit(Operation *op);
  /// Sets the hints of `op`, whose values have `types`, by their types with
  /// sizes. Returns whether all of these are known.
  bool setHints(Operation *op, TypeRange types, ArrayRef<Type> sized);

  SymbolTableCollection *symbolTables = nullptr;
  bool changed = false;
};

} // namespace

bool InferSizeHints::setHints(Operation *op, TypeRange types,
                              ArrayRef<Type> sized) {
  SmallVector<int64_t> hints;
  for (auto [type, known] : llvm::zip_equal(types, sized)) {
    if (countDynamicDims(type) == 0)
      continue;
    if (!known)
      return false;
    for (auto [size, hint] :
         llvm::zip_equal(cast<ShapedType>(type).getShape(),
                         cast<ShapedType>(known).getShape()))
      if (ShapedType::isDynamic(size))
        hints.push_back(hint);
  }
  op->setDiscardableAttr(sizeHintsAttrName,
                         DenseI64ArrayAttr::get(op->getContext(), hints));
  changed = true;
  return true;
}

/// The types with sizes of what the first region of `op`, which has results,
/// passes on to it.
static SmallVector<Type> inferYielded(Operation *op) {
  SmallVector<Type> types(op->getNumResults());
  Region &region = op->getRegion(0);
  Operation *yield = !region.empty() && region.back().mightHaveTerminator()
                         ? region.back().getTerminator()
                         : nullptr;
  if (yield && yield->getNumOperands() == types.size())
    for (auto [type, result, value] :
         llvm::zip_equal(types, op->getResults(), yield->getOperands()))
      type = withSizesOf(result.getType(), value);
  return types;
}

void InferSizeHints::visit(Operation *op) {
  auto start = dyn_cast<CollectiveOpInterface>(op);
  SmallVector<Type> types = start && start.getInFlightFuture()
                                ? start.getDeliveredTypes()
                                : llvm::to_vector(op->getResultTypes());
  // A wait has the hints of its start.
  bool isMissing = countDynamicDims(types) > 0 && !isa<WaitOpInterface>(op) &&
                   !op->hasAttr(sizeHintsAttrName);
  if (isMissing) {
    SmallVector<Type> sized =
        start ? inferDelivered(start, *symbolTables)
              : llvm::map_to_vector(op->getOpResults(), inferType);
    isMissing = !setHints(op, types, sized);
    auto exchange = dyn_cast<AllToAllOp>(op);
    if (!isMissing && exchange && exchange.getOutputSizes())
      remark::analysis(op->getLoc(),
                       makeRemark("SizeExpected", getOperation().getSymName()))
          << describe(op) + " is expected to deliver as many rows as it sends: "
                            "its splits are known only when it runs";
  }
  for (Region &region : op->getRegions())
    visit(region);
  // Branches are known once they have been visited; a loop also needs what it
  // starts with.
  if (isMissing && isa<RegionBranchOpInterface>(op) &&
      !isa<LoopLikeOpInterface>(op))
    isMissing = !setHints(op, types, inferYielded(op));
  if (isMissing)
    remark::missed(op->getLoc(),
                   makeRemark("SizeUnknown", getOperation().getSymName()))
        << describe(op) + " gets no size hints: its sizes do not follow from "
                          "those of its operands";
}
