//===- StaticBytes.cpp - Sizes of values with static shapes ---------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::commsched;

/// Bytes of one element, padded to whole bytes; none for types without a
/// fixed width.
static std::optional<int64_t> getElementBytes(Type type) {
  if (auto complexType = dyn_cast<ComplexType>(type)) {
    std::optional<int64_t> part = getElementBytes(complexType.getElementType());
    return part ? std::optional<int64_t>(2 * *part) : std::nullopt;
  }
  // The width of an index is the target's; every one that CommSched knows
  // addresses 64 bits.
  if (isa<IndexType>(type))
    return 8;
  if (auto integer = dyn_cast<IntegerType>(type))
    return static_cast<int64_t>(llvm::divideCeil(integer.getWidth(), 8));
  if (auto number = dyn_cast<FloatType>(type))
    return static_cast<int64_t>(llvm::divideCeil(number.getWidth(), 8));
  return std::nullopt;
}

static std::optional<int64_t> getBytes(ArrayRef<int64_t> shape,
                                       Type elementType) {
  if (ShapedType::isDynamicShape(shape))
    return std::nullopt;
  std::optional<int64_t> bytes = getElementBytes(elementType);
  if (!bytes)
    return std::nullopt;
  for (int64_t dim : shape)
    if (llvm::MulOverflow(*bytes, dim, *bytes))
      return std::nullopt;
  return bytes;
}

std::optional<int64_t> mlir::commsched::getStaticBytes(Type type) {
  // Nearly all are tensors, which answer faster than the interface.
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return getBytes(tensor.getShape(), tensor.getElementType());
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped)
    return 0;
  if (!shaped.hasRank())
    return std::nullopt;
  return getBytes(shaped.getShape(), shaped.getElementType());
}

std::optional<int64_t> mlir::commsched::getStaticBytes(TypeRange types) {
  int64_t total = 0;
  for (Type type : types) {
    std::optional<int64_t> bytes = getStaticBytes(type);
    if (!bytes || llvm::AddOverflow(total, *bytes, total))
      return std::nullopt;
  }
  return total;
}

std::optional<int64_t>
mlir::commsched::getOperandAndResultBytes(Operation *op) {
  std::optional<int64_t> in = getStaticBytes(TypeRange(op->getOperandTypes()));
  std::optional<int64_t> out = getStaticBytes(TypeRange(op->getResultTypes()));
  int64_t total;
  if (!in || !out || llvm::AddOverflow(*in, *out, total))
    return std::nullopt;
  return total;
}
