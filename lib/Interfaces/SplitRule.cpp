//===- SplitRule.cpp - How an operation divides into chunks ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Interfaces/SplitRule.h"

#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::commsched;

static const AxisPlace *findPlace(ArrayRef<AxisPlace> places, unsigned value) {
  for (const AxisPlace &place : places)
    if (place.value == value)
      return &place;
  return nullptr;
}

/// The axis that `split` divides in value `value`, of which `places` gives the
/// places of an axis. Of several, the innermost one with something to divide:
/// what the split leaves of an outer axis has a length of 1.
static std::optional<AxisSplit>
findAxis(const SplitRule &rule, unsigned value, ValueSplit split,
         SmallVector<AxisPlace, 3> SplitAxis::*places) {
  std::optional<AxisSplit> found;
  int64_t foundOuter = 0;
  for (auto [index, axis] : llvm::enumerate(rule.axes)) {
    const AxisPlace *place = findPlace(axis.*places, value);
    if (!place || place->dim != split.dim || place->outer <= 0 ||
        split.outer % place->outer != 0)
      continue;
    int64_t blocks = split.outer / place->outer;
    if (blocks == 0 || axis.size % blocks != 0 || axis.size == blocks ||
        place->outer < foundOuter)
      continue;
    found = AxisSplit{static_cast<unsigned>(index), blocks};
    foundOuter = place->outer;
  }
  return found;
}

std::optional<AxisSplit>
mlir::commsched::findAxisOfOperand(const SplitRule &rule, unsigned operand,
                                   ValueSplit split) {
  return findAxis(rule, operand, split, &SplitAxis::operands);
}

std::optional<AxisSplit>
mlir::commsched::findAxisOfResult(const SplitRule &rule, unsigned result,
                                  ValueSplit split) {
  return findAxis(rule, result, split, &SplitAxis::results);
}

static std::optional<ValueSplit> getSplit(ArrayRef<AxisPlace> places,
                                          unsigned value, int64_t blocks) {
  if (const AxisPlace *place = findPlace(places, value))
    return ValueSplit{place->dim, place->outer * blocks};
  return std::nullopt;
}

std::optional<ValueSplit>
mlir::commsched::getOperandSplit(const SplitAxis &axis, unsigned operand,
                                 int64_t blocks) {
  return getSplit(axis.operands, operand, blocks);
}

std::optional<ValueSplit> mlir::commsched::getResultSplit(const SplitAxis &axis,
                                                          unsigned result,
                                                          int64_t blocks) {
  return getSplit(axis.results, result, blocks);
}

Type mlir::commsched::getChunkType(Type whole, int64_t dim, int64_t count) {
  auto shaped = cast<ShapedType>(whole);
  SmallVector<int64_t> shape(shaped.getShape());
  shape[dim] /= count;
  return shaped.clone(shape);
}

SmallVector<Type> mlir::commsched::getSplitResultTypes(Operation *op) {
  if (auto collective = dyn_cast<CollectiveOpInterface>(op))
    if (collective.getInFlightFuture())
      return collective.getDeliveredTypes();
  return llvm::to_vector(op->getResultTypes());
}

SmallVector<Type> mlir::commsched::getChunkResultTypes(Operation *op,
                                                       const SplitAxis &axis,
                                                       int64_t count) {
  SmallVector<Type> chunks = getSplitResultTypes(op);
  for (const AxisPlace &place : axis.results)
    chunks[place.value] = getChunkType(chunks[place.value], place.dim, count);
  return chunks;
}

/// Adds dimension `dim` of a tensor type to `axis`, whose size it has; false if
/// the sizes differ or it has none.
static bool addPlace(SplitAxis &axis, Type type, unsigned value, int64_t dim,
                     SmallVectorImpl<AxisPlace> &places) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || dim >= tensor.getRank() || tensor.isDynamicDim(dim) ||
      tensor.getDimSize(dim) != axis.size)
    return false;
  places.push_back({value, dim, /*outer=*/1});
  return true;
}

/// Whether one element of an operand of `type` is used for all indices of
/// dimension `dim` of a result of rank `rank` and size `size`.
static bool isRepeated(Type type, int64_t rank, int64_t dim, int64_t size) {
  if (!isa<ShapedType>(type))
    return true;
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor &&
         (tensor.getRank() == 0 || (tensor.getRank() == rank && size != 1 &&
                                    tensor.getDimSize(dim) == 1));
}

SplitRule mlir::commsched::getElementwiseRule(TypeRange operands,
                                              TypeRange results) {
  SplitRule rule;
  auto first = results.empty() ? RankedTensorType()
                               : dyn_cast<RankedTensorType>(results.front());
  if (!first)
    return rule;
  int64_t rank = first.getRank();
  auto hasOtherRank = [&](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor ? tensor.getRank() != 0 && tensor.getRank() != rank
                  : isa<ShapedType>(type);
  };
  if (llvm::any_of(operands, hasOtherRank) ||
      llvm::any_of(results, hasOtherRank))
    return rule;
  for (int64_t dim = 0; dim < rank; ++dim) {
    SplitAxis axis{first.getDimSize(dim), SplitAxisKind::Parallel, {}, {}};
    bool isAxis = true;
    for (auto [index, type] : llvm::enumerate(operands))
      isAxis &= isRepeated(type, rank, dim, axis.size) ||
                addPlace(axis, type, index, dim, axis.operands);
    for (auto [index, type] : llvm::enumerate(results))
      isAxis &= addPlace(axis, type, index, dim, axis.results);
    if (isAxis)
      rule.axes.push_back(std::move(axis));
  }
  return rule;
}

Operation *mlir::commsched::createWithTypes(OpBuilder &builder, Operation *op,
                                            ValueRange operands,
                                            TypeRange results) {
  Operation *created = Operation::create(
      op->getLoc(), op->getName(), results, operands,
      op->getDiscardableAttrDictionary(), op->getPropertiesStorage(),
      /*successors=*/{}, op->getNumRegions());
  IRMapping mapping;
  for (auto [from, to] : llvm::zip(op->getRegions(), created->getRegions()))
    from.cloneInto(&to, mapping);
  return builder.insert(created);
}
