//===- SplitModels.cpp - Shared parts of the models of rules --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Models.h"

#include <numeric>

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::detail;

std::optional<int64_t> mlir::commsched::detail::getStaticSize(Value value,
                                                              int64_t dim) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || dim >= type.getRank() || type.isDynamicDim(dim))
    return std::nullopt;
  return type.getDimSize(dim);
}

bool mlir::commsched::detail::givesRankedTensor(Operation *op) {
  return op->getNumResults() != 0 &&
         isa<RankedTensorType>(op->getResult(0).getType());
}

/// The axis that each of the given dimensions consists of; none if they are not
/// all of one static size.
static std::optional<SplitAxis> makeAxis(Operation *op, SplitAxisKind kind,
                                         ArrayRef<DimOfValue> operands,
                                         ArrayRef<DimOfValue> results) {
  SplitAxis axis{-1, kind, {}, {}};
  auto add = [&](Value value, unsigned index, int64_t dim,
                 SmallVectorImpl<AxisPlace> &places) {
    std::optional<int64_t> size = getStaticSize(value, dim);
    if (!size || (axis.size >= 0 && axis.size != *size))
      return false;
    axis.size = *size;
    places.push_back({index, dim, /*outer=*/1});
    return true;
  };
  for (auto [index, dim] : operands)
    if (!add(op->getOperand(index), index, dim, axis.operands))
      return std::nullopt;
  for (auto [index, dim] : results)
    if (!add(op->getResult(index), index, dim, axis.results))
      return std::nullopt;
  return axis;
}

void mlir::commsched::detail::addParallelAxis(SplitRule &rule, Operation *op,
                                              ArrayRef<DimOfValue> operands,
                                              ArrayRef<DimOfValue> results) {
  if (std::optional<SplitAxis> axis =
          makeAxis(op, SplitAxisKind::Parallel, operands, results))
    rule.axes.push_back(std::move(*axis));
}

void mlir::commsched::detail::addSumAxis(SmallVectorImpl<SplitAxis> &axes,
                                         Operation *op,
                                         ArrayRef<DimOfValue> operands) {
  if (std::optional<SplitAxis> axis =
          makeAxis(op, SplitAxisKind::Sum, operands, /*results=*/{}))
    axes.push_back(std::move(*axis));
}

void mlir::commsched::detail::addUntouchedAxes(
    SplitRule &rule, Operation *op,
    function_ref<bool(int64_t dim)> isUntouched) {
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type)
    return;
  for (int64_t dim = 0, rank = type.getRank(); dim < rank; ++dim)
    if (isUntouched(dim))
      addParallelAxis(rule, op, {{0, dim}}, {{0, dim}});
}

SplitRule mlir::commsched::detail::getConcatenationRule(Operation *op,
                                                        int64_t along) {
  SplitRule rule;
  auto type = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  for (int64_t dim = 0, rank = type ? type.getRank() : 0; dim < rank; ++dim) {
    if (dim == along)
      continue;
    SmallVector<DimOfValue> operands;
    for (unsigned index = 0; index < op->getNumOperands(); ++index)
      operands.push_back({index, dim});
    addParallelAxis(rule, op, operands, {{0, dim}});
  }
  return rule;
}

namespace {
/// Walks over the sizes of a shape, from the outermost to the innermost, in
/// parts.
struct ShapeCursor {
  ArrayRef<int64_t> shape;
  int64_t dim = 0;
  /// The product of the parts of the dimension that were taken.
  int64_t outer = 1;

  bool atEnd() const { return dim == static_cast<int64_t>(shape.size()); }
  int64_t getRest() const { return shape[dim] / outer; }
  void take(int64_t part) {
    outer *= part;
    if (outer != shape[dim])
      return;
    ++dim;
    outer = 1;
  }
  void skipOnes() {
    while (!atEnd() && shape[dim] == 1)
      ++dim;
  }
  /// Goes on behind the dimension, and returns what was left of it.
  int64_t skipRest() {
    int64_t rest = getRest();
    ++dim;
    outer = 1;
    return rest;
  }
};
} // namespace

/// Goes on behind the dimensions whose sizes have no common parts: to where
/// both have the same number of elements behind them.
static void skipMixedDimensions(ShapeCursor &from, ShapeCursor &to) {
  int64_t ofFrom = from.skipRest(), ofTo = to.skipRest();
  while (ofFrom != ofTo) {
    ShapeCursor &shorter = ofFrom < ofTo ? from : to;
    int64_t &elements = ofFrom < ofTo ? ofFrom : ofTo;
    if (shorter.atEnd())
      return;
    elements *= shorter.skipRest();
  }
}

void mlir::commsched::detail::addReshapeAxes(SplitRule &rule,
                                             ArrayRef<int64_t> fromShape,
                                             int64_t firstFrom,
                                             ArrayRef<int64_t> toShape,
                                             int64_t firstTo) {
  auto isUnknown = [](int64_t size) { return size <= 0; };
  if (llvm::any_of(fromShape, isUnknown) || llvm::any_of(toShape, isUnknown))
    return;
  ShapeCursor from{fromShape}, to{toShape};
  while (true) {
    from.skipOnes();
    to.skipOnes();
    if (from.atEnd() || to.atEnd())
      return;
    int64_t part = std::gcd(from.getRest(), to.getRest());
    bool isMixed = part != from.getRest() && part != to.getRest();
    if (part != 1)
      rule.axes.push_back({part,
                           SplitAxisKind::Parallel,
                           {AxisPlace{0, firstFrom + from.dim, from.outer}},
                           {AxisPlace{0, firstTo + to.dim, to.outer}}});
    from.take(part);
    to.take(part);
    if (isMixed)
      skipMixedDimensions(from, to);
  }
}
