//===- Dimensions.cpp - Operations that measure ---------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Problem/Dimensions.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/BuiltinTypeInterfaces.h"
#include "mlir/Interfaces/ShapedOpInterfaces.h"

using namespace mlir;

bool mlir::commsched::readsOnlyDimensions(Operation *op) {
  return isa<ShapedDimOpInterface>(op);
}

std::optional<int64_t> mlir::commsched::getStaticDimension(Operation *op) {
  auto dimOp = dyn_cast<ShapedDimOpInterface>(op);
  if (!dimOp || op->getNumResults() != 1 ||
      !op->getResult(0).getType().isIndex())
    return std::nullopt;
  auto type = dyn_cast<ShapedType>(dimOp.getShapedValue().getType());
  std::optional<int64_t> index = getConstantIntValue(dimOp.getDimension());
  if (!type || !type.hasRank() || !index || *index < 0 ||
      *index >= type.getRank() || type.isDynamicDim(*index))
    return std::nullopt;
  return type.getDimSize(*index);
}
