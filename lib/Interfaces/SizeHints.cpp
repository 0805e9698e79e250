//===- SizeHints.cpp - Hints for dynamic sizes ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace mlir::commsched;

/// `type` if it has a rank and dynamic dimensions, and else null.
static ShapedType getDynamic(Type type) {
  // Nearly all are tensors, which answer faster than the interface.
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.hasStaticShape() ? ShapedType() : tensor;
  ShapedType shaped = getTensorType(type);
  return shaped && shaped.hasRank() && !shaped.hasStaticShape() ? shaped
                                                                : ShapedType();
}

int64_t mlir::commsched::countDynamicDims(TypeRange types) {
  int64_t count = 0;
  for (Type type : types)
    if (ShapedType shaped = getDynamic(type))
      count += shaped.getNumDynamicDims();
  return count;
}

/// `type` with the first of `hints` in the place of its dynamic sizes; these
/// are taken from `hints`. As it is if they are too few.
static Type takeHints(Type type, ArrayRef<int64_t> &hints) {
  ShapedType shaped = getDynamic(type);
  if (!shaped)
    return type;
  if (shaped.getNumDynamicDims() > hints.size()) {
    hints = {};
    return type;
  }
  SmallVector<int64_t> shape(shaped.getShape());
  for (int64_t &size : shape) {
    if (!ShapedType::isDynamic(size))
      continue;
    size = hints.front();
    hints = hints.drop_front();
  }
  return shaped.clone(shape);
}

/// The hints of `op`, or none.
static ArrayRef<int64_t> getHints(Operation *op) {
  auto attr = op ? dyn_cast_if_present<DenseI64ArrayAttr>(
                       op->getDiscardableAttr(sizeHintsAttrName))
                 : nullptr;
  return attr ? attr.asArrayRef() : ArrayRef<int64_t>();
}

static Type getSizedResultType(OpResult result) {
  Operation *op = result.getOwner();
  ArrayRef<int64_t> hints = getHints(op);
  if (auto wait = dyn_cast<WaitOpInterface>(op); wait && hints.empty())
    hints = getHints(wait.getStart());
  Type type;
  for (OpResult next :
       op->getResults().take_front(result.getResultNumber() + 1))
    type = takeHints(next.getType(), hints);
  return type;
}

Type mlir::commsched::getSizedType(Value value) {
  Type type = value.getType();
  if (!getDynamic(type))
    return type;
  if (auto result = dyn_cast<OpResult>(value))
    return getSizedResultType(result);
  auto argument = cast<BlockArgument>(value);
  Operation *parent = argument.getOwner()->getParentOp();
  if (auto loop = dyn_cast_if_present<LoopLikeOpInterface>(parent)) {
    OpResult result = loop.getTiedLoopResult(argument);
    return result && result.getType() == type ? getSizedResultType(result)
                                              : type;
  }
  auto function = dyn_cast_if_present<FunctionOpInterface>(parent);
  if (!function || !argument.getOwner()->isEntryBlock())
    return type;
  auto attr = function.getArgAttrOfType<DenseI64ArrayAttr>(
      argument.getArgNumber(), sizeHintsAttrName);
  ArrayRef<int64_t> hints = attr ? attr.asArrayRef() : ArrayRef<int64_t>();
  return takeHints(type, hints);
}

SmallVector<Type> mlir::commsched::getSizedTypes(ValueRange values) {
  return llvm::map_to_vector(values,
                             [](Value value) { return getSizedType(value); });
}

SmallVector<Type>
mlir::commsched::getSizedDeliveredTypes(Operation *collective) {
  auto start = cast<CollectiveOpInterface>(collective);
  SmallVector<Type> types = start.getDeliveredTypes();
  ArrayRef<int64_t> hints = getHints(collective);
  for (Type &type : types)
    type = takeHints(type, hints);
  return types;
}
