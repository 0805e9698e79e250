//===- AbsorbedCasts.cpp - Casts that a copy-in makes ---------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AbsorbedCasts.h"

#include "CommSched/Dialect/CommSchedDialect.h"
#include "WritesBetween.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::commsched;
using ::commsched::CollectiveKind;

/// Operators of PyTorch that, given one tensor and one of another element type
/// in return, convert it and do nothing else.
static constexpr StringLiteral conversionCallees[] = {
    "aten._to_copy", "prims.convert_element_type"};

/// Whether `op` rounds floating-point numbers to the nearest, as copies do.
static bool isConversion(Operation *op) {
  if (isa<arith::ExtFOp>(op))
    return true;
  if (auto truncation = dyn_cast<arith::TruncFOp>(op))
    return truncation.getRoundingmode().value_or(
               arith::RoundingMode::to_nearest_even) ==
           arith::RoundingMode::to_nearest_even;
  auto compute = dyn_cast<ComputeOp>(op);
  return compute &&
         llvm::is_contained(conversionCallees, compute.getCallee()) &&
         !compute.getFlops() && !compute.getAlias() && !compute.getMutates() &&
         !compute.getRandom();
}

/// Whether `op` is a cast from one floating-point type to another. Integers
/// have no sign here, so what their conversion does is not known.
static bool isCast(Operation *op) {
  if (op->getNumOperands() != 1 || op->getNumResults() != 1)
    return false;
  auto from = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  auto to = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  return from && to && from.getShape() == to.getShape() &&
         from.getEncoding() == to.getEncoding() &&
         isa<FloatType>(from.getElementType()) &&
         isa<FloatType>(to.getElementType()) &&
         from.getElementType() != to.getElementType() && isConversion(op);
}

static bool widens(Operation *cast) {
  return getElementTypeOrSelf(cast->getOperand(0)).getIntOrFloatBitWidth() <
         getElementTypeOrSelf(cast->getResult(0)).getIntOrFloatBitWidth();
}

Operation *mlir::commsched::getAbsorbedCast(CollectiveOpInterface start,
                                            Operation *last) {
  Operation *cast = start.getSentValues().front().getDefiningOp();
  if (!cast || cast->getBlock() != start->getBlock() || !cast->hasOneUse() ||
      !isCast(cast))
    return nullptr;
  CollectiveKind kind = start.getCollectiveKind();
  bool converts = kind == CollectiveKind::AllGather ||
                  (kind == CollectiveKind::ReduceScatter && widens(cast));
  if (!converts || mayBeWrittenBetween(cast->getOperand(0), cast, last))
    return nullptr;
  return cast;
}
