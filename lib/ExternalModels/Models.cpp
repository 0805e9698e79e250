//===- Models.cpp - What the models of all dialects share -----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Models.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/CastInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::commsched;

std::optional<double> mlir::commsched::detail::getElementCount(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped)
    return 0;
  if (!shaped.hasStaticShape())
    return std::nullopt;
  double count = 1;
  for (int64_t dim : shaped.getShape())
    count *= static_cast<double>(dim);
  return count;
}

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

std::optional<int64_t>
mlir::commsched::detail::getMultipleOfBytes(TypeRange types, int64_t times) {
  std::optional<int64_t> bytes = getStaticBytes(types);
  int64_t product;
  if (!bytes || llvm::MulOverflow(*bytes, times, product))
    return std::nullopt;
  return product;
}

std::optional<double>
mlir::commsched::detail::ElementwiseCost::getFlopCount(Operation *op) const {
  if (isa<CastOpInterface>(op))
    return 0;
  return getElementCount(op->getResult(0).getType());
}

std::optional<int64_t>
mlir::commsched::detail::SelectionCost::getMovedBytes(Operation *op) const {
  std::optional<int64_t> copied =
      getMultipleOfBytes(op->getResultTypes(), /*times=*/2);
  std::optional<int64_t> others =
      getStaticBytes(TypeRange(op->getOperands().drop_front()));
  int64_t total;
  if (!copied || !others || llvm::AddOverflow(*copied, *others, total))
    return std::nullopt;
  return total;
}

std::optional<int64_t>
mlir::commsched::detail::ResultsOnlyCost::getMovedBytes(Operation *op) const {
  return getStaticBytes(op->getResultTypes());
}

std::optional<int64_t>
mlir::commsched::detail::CopyIntoCost::getMovedBytes(Operation *op) const {
  return getMultipleOfBytes(op->getOperand(0).getType(), /*times=*/2);
}
