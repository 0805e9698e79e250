//===- OperatorClasses.cpp - Classes of operations ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Problem/OperatorClasses.h"
#include "CommSched/Analysis/Problem/Aliasing.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/BuiltinTypeInterfaces.h"
#include "mlir/Interfaces/CastInterfaces.h"
#include "mlir/Interfaces/ShapedOpInterfaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::commsched;

bool mlir::commsched::isNumber(Type type) {
  return type.isIntOrIndexOrFloat() || isa<ComplexType>(type);
}

/// Whether `op` communicates. That is not known of an operation with unknown
/// effects; it counts as one that does not, as it cannot be recomputed anyway.
static bool communicates(Operation *op) {
  switch (getCommunicationEffect(op)) {
  case CommunicationEffect::None:
    return false;
  case CommunicationEffect::Start:
  case CommunicationEffect::Wait:
  case CommunicationEffect::Blocking:
    return true;
  case CommunicationEffect::Unknown:
    return !hasUnknownMemoryEffects(op);
  }
  llvm_unreachable("unknown communication effect");
}

OperatorClass mlir::commsched::getOperatorClass(Operation *op) {
  if (auto classified = dyn_cast<OperatorClassOpInterface>(op))
    return classified.getOperatorClass();
  if (communicates(op))
    return OperatorClass::Collective;
  if (op->hasTrait<OpTrait::ConstantLike>())
    return OperatorClass::Constant;
  if (makesOnlyViews(op))
    return OperatorClass::View;
  if (op->hasTrait<OpTrait::Elementwise>() || isa<CastOpInterface>(op))
    return OperatorClass::Pointwise;
  if (auto cost = dyn_cast<CostOpInterface>(op); cost && cost.isExpensive())
    return OperatorClass::ComputeIntensive;
  return OperatorClass::Other;
}

OperatorClass mlir::commsched::getFusionClass(Operation *op) {
  if (isa<AllGatherCopyInOp, ChunkCatOp, tensor::ConcatOp>(op))
    return OperatorClass::Concatenation;
  if (isa<SplitWithSizesCopyOp, tensor::ExtractSliceOp, linalg::TransposeOp>(
          op))
    return OperatorClass::DataMovement;
  return getOperatorClass(op);
}

//===----------------------------------------------------------------------===//
// Casts between floating-point types
//===----------------------------------------------------------------------===//

/// Operators of PyTorch that only convert their operand if the result differs
/// from it in nothing but the element type.
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

//===----------------------------------------------------------------------===//
// Reads of dimensions
//===----------------------------------------------------------------------===//

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
