//===- Casts.cpp - Conversions between floating-point types ---------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Problem/Casts.h"

#include "CommSched/Dialect/CommSchedDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::commsched;

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

bool mlir::commsched::isCast(Operation *op) {
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
