//===- Values.cpp - Values of arguments and results -----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Values.h"

#include "CommSched/Dialect/CommSchedDialect.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include "llvm/Support/ScopedPrinter.h"
#include <cmath>
#include <cstring>
#include <limits>

using namespace mlir;
using namespace mlir::commsched::run;

int64_t ValueType::getNumElements() const {
  return ShapedType::getNumElements(shape);
}

//===----------------------------------------------------------------------===//
// From MLIR's types
//===----------------------------------------------------------------------===//

static std::optional<ElementFormat> getFormat(Type type) {
  if (isa<IndexType>(type))
    return ElementFormat{NumberClass::Signed, 8};
  if (auto integer = dyn_cast<IntegerType>(type)) {
    unsigned width = integer.getWidth();
    if (width == 1)
      return ElementFormat{NumberClass::Bool, 1};
    if (width != 8 && width != 16 && width != 32 && width != 64)
      return std::nullopt;
    return ElementFormat{integer.isUnsigned() ? NumberClass::Unsigned
                                              : NumberClass::Signed,
                         width / 8};
  }
  if (auto number = dyn_cast<FloatType>(type)) {
    unsigned width = number.getWidth();
    if (width != 8 && width != 16 && width != 32 && width != 64)
      return std::nullopt;
    return ElementFormat{NumberClass::Float, width / 8,
                         &number.getFloatSemantics()};
  }
  if (auto number = dyn_cast<ComplexType>(type)) {
    auto part = dyn_cast<FloatType>(number.getElementType());
    if (!part || (part.getWidth() != 32 && part.getWidth() != 64))
      return std::nullopt;
    return ElementFormat{NumberClass::Complex, part.getWidth() / 4,
                         &part.getFloatSemantics()};
  }
  return std::nullopt;
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
    value.storage = memref ? run::Storage::MemRef : run::Storage::Tensor;
    value.shape.assign(shaped.getShape().begin(), shaped.getShape().end());
    value.isOnHost = isHostType(type);
    elementType = shaped.getElementType();
  }
  std::optional<ElementFormat> format = getFormat(elementType);
  if (!format)
    return fail("which does not consist of numbers of 1, 2, 4 or 8 bytes");
  value.element = *format;
  if (!hasRepresentableSize(value.shape, format->bytes))
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

static llvm::APFloat loadFloat(const llvm::fltSemantics &semantics,
                               const char *source) {
  unsigned width = llvm::APFloat::getSizeInBits(semantics);
  return llvm::APFloat(semantics,
                       llvm::APInt(width, loadBits(source, width / 8)));
}

static double loadDouble(const llvm::fltSemantics &semantics,
                         const char *source) {
  llvm::APFloat number = loadFloat(semantics, source);
  bool losesInfo = false;
  number.convert(llvm::APFloat::IEEEdouble(),
                 llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return number.convertToDouble();
}

static void storeFloat(const llvm::fltSemantics &semantics, double value,
                       char *target) {
  llvm::APFloat number(value);
  bool losesInfo = false;
  number.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  uint64_t bits = number.bitcastToAPInt().getZExtValue();
  std::memcpy(target, &bits, llvm::APFloat::getSizeInBits(semantics) / 8);
}

void mlir::commsched::run::writeNumber(const ElementFormat &format,
                                       double value, char *element) {
  switch (format.numberClass) {
  case NumberClass::Bool:
    *element = value != 0;
    return;
  case NumberClass::Signed:
  case NumberClass::Unsigned: {
    auto number = static_cast<int64_t>(value);
    std::memcpy(element, &number, format.bytes);
    return;
  }
  case NumberClass::Float:
    return storeFloat(*format.semantics, value, element);
  case NumberClass::Complex:
    storeFloat(*format.semantics, value, element);
    return storeFloat(*format.semantics, value, element + format.bytes / 2);
  }
}

static std::string formatFloat(const llvm::fltSemantics &semantics,
                               const char *source) {
  // Digits that distinguish a value from its neighbours.
  int digits = static_cast<int>(
      1 + std::ceil(llvm::APFloat::semanticsPrecision(semantics) * 0.30103));
  return llvm::to_string(
      llvm::format("%.*g", digits, loadDouble(semantics, source)));
}

std::string mlir::commsched::run::formatElement(const ElementFormat &format,
                                                const char *element) {
  switch (format.numberClass) {
  case NumberClass::Bool:
    return *element ? "true" : "false";
  case NumberClass::Signed:
    return std::to_string(
        llvm::SignExtend64(loadBits(element, format.bytes),
                           static_cast<unsigned>(format.bytes * 8)));
  case NumberClass::Unsigned:
    return std::to_string(loadBits(element, format.bytes));
  case NumberClass::Float:
    return formatFloat(*format.semantics, element);
  case NumberClass::Complex:
    return "(" + formatFloat(*format.semantics, element) + ", " +
           formatFloat(*format.semantics, element + format.bytes / 2) + ")";
  }
  llvm_unreachable("all classes are handled");
}

static bool areEqualFloats(const llvm::fltSemantics &semantics,
                           const char *left, const char *right,
                           std::optional<double> tolerance) {
  unsigned bytes = llvm::APFloat::getSizeInBits(semantics) / 8;
  if (std::memcmp(left, right, bytes) == 0)
    return true;
  double a = loadDouble(semantics, left), b = loadDouble(semantics, right);
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
  if (!format.semantics)
    return std::memcmp(left, right, format.bytes) == 0;
  int64_t part = llvm::APFloat::getSizeInBits(*format.semantics) / 8;
  for (int64_t at = 0; at < format.bytes; at += part)
    if (!areEqualFloats(*format.semantics, left + at, right + at, tolerance))
      return false;
  return true;
}
