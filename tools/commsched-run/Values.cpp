//===- Values.cpp - Values of arguments and results -----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Values.h"

#include "CommSched/Dialect/CommSchedDialect.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/ScopedPrinter.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace mlir::commsched::run;

//===----------------------------------------------------------------------===//
// From MLIR's types
//===----------------------------------------------------------------------===//

/// No bytes for what is no number of 1, 2, 4 or 8 bytes, or no two floats of 4
/// or 8.
static ElementFormat getFormat(Type type) {
  if (isa<IndexType>(type))
    return {type, 8, {}};
  if (type.isInteger(1))
    return {type, 1, {}};
  auto complex = dyn_cast<ComplexType>(type);
  Type number = complex ? complex.getElementType() : type;
  if (!number.isIntOrFloat() || (complex && !isa<FloatType>(number)))
    return {};
  unsigned width = number.getIntOrFloatBitWidth();
  if (width < (complex ? 32 : 8) || width > 64 || !llvm::isPowerOf2_32(width))
    return {};
  return {type, width / (complex ? 4 : 8), dyn_cast<FloatType>(number)};
}

static bool hasRepresentableSize(ArrayRef<int64_t> shape, int64_t bytes) {
  for (int64_t size : shape)
    if (llvm::MulOverflow(bytes, size, bytes))
      return false;
  return true;
}

llvm::Expected<ValueType> mlir::commsched::run::getValueType(Type type) {
  ValueType value;
  llvm::raw_string_ostream(value.text) << type;
  auto fail = [&](const Twine &reason) {
    return llvm::createStringError("has type " + value.text + ", " + reason);
  };

  Type elementType = type;
  if (auto shaped = dyn_cast<ShapedType>(type)) {
    if (!isa<RankedTensorType, MemRefType>(type))
      return fail("which is neither a ranked tensor nor a memref");
    if (!shaped.hasStaticShape())
      return fail("whose shape is dynamic: only programs of static shapes run");
    auto memref = dyn_cast<MemRefType>(type);
    if (memref && !memref.getLayout().isIdentity())
      return fail("whose elements do not lie one after the other");
    value.isScalar = false;
    value.isMemRef = bool(memref);
    value.shape.assign(shaped.getShape().begin(), shaped.getShape().end());
    value.isOnHost = isHostType(type);
    elementType = shaped.getElementType();
  }
  value.element = getFormat(elementType);
  if (value.element.bytes == 0)
    return fail("which does not consist of numbers of 1, 2, 4 or 8 bytes");
  if (!hasRepresentableSize(value.shape, value.element.bytes))
    return fail("which is too large");
  return value;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// The bits of an integer, or of one part of a number.
static uint64_t loadBits(const char *source, int64_t bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, source, bytes);
  return bits;
}

static double loadDouble(FloatType type, const char *source) {
  unsigned width = type.getWidth();
  return llvm::APFloat(type.getFloatSemantics(),
                       llvm::APInt(width, loadBits(source, width / 8)))
      .convertToDouble();
}

void mlir::commsched::run::writeNumber(const ElementFormat &format,
                                       double value, char *element) {
  uint64_t bits = 0;
  int64_t bytes = format.bytes;
  if (FloatType part = format.part) {
    llvm::APFloat number(value);
    bool losesInfo = false;
    number.convert(part.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                   &losesInfo);
    bits = number.bitcastToAPInt().getZExtValue();
    bytes = part.getWidth() / 8;
  } else if (format.type.isInteger(1)) {
    bits = value != 0;
  } else {
    bits = static_cast<int64_t>(value);
  }
  for (int64_t at = 0; at < format.bytes; at += bytes)
    std::memcpy(element + at, &bits, bytes);
}

static std::string formatFloat(FloatType type, const char *source) {
  // Digits that distinguish a value from its neighbours.
  int digits =
      static_cast<int>(1 + std::ceil(type.getFPMantissaWidth() * 0.30103));
  return llvm::to_string(
      llvm::format("%.*g", digits, loadDouble(type, source)));
}

std::string mlir::commsched::run::formatElement(const ElementFormat &format,
                                                const char *element) {
  if (isa<ComplexType>(format.type))
    return "(" + formatFloat(format.part, element) + ", " +
           formatFloat(format.part, element + format.bytes / 2) + ")";
  if (format.part)
    return formatFloat(format.part, element);
  if (format.type.isInteger(1))
    return *element ? "true" : "false";
  uint64_t bits = loadBits(element, format.bytes);
  if (format.type.isUnsignedInteger())
    return std::to_string(bits);
  return std::to_string(
      llvm::SignExtend64(bits, static_cast<unsigned>(format.bytes * 8)));
}

static bool areEqualFloats(FloatType type, const char *left, const char *right,
                           std::optional<double> tolerance) {
  if (std::memcmp(left, right, type.getWidth() / 8) == 0)
    return true;
  double a = loadDouble(type, left), b = loadDouble(type, right);
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && std::isnan(b);
  if (!tolerance)
    return false;
  if (std::isinf(a) || std::isinf(b))
    return a == b;
  double magnitude = std::max(std::abs(a), std::abs(b));
  return std::abs(a - b) <= *tolerance * (1 + magnitude);
}

bool mlir::commsched::run::areEqual(const ElementFormat &format,
                                    const char *left, const char *right,
                                    std::optional<double> tolerance) {
  FloatType part = format.part;
  if (!part)
    return std::memcmp(left, right, format.bytes) == 0;
  for (int64_t at = 0; at < format.bytes; at += part.getWidth() / 8)
    if (!areEqualFloats(part, left + at, right + at, tolerance))
      return false;
  return true;
}
