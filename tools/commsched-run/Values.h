//===- Values.h - Values of arguments and results ---------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Arguments and results of an entry function in host memory: scalars, and
// tensors or memrefs of static shape with dense elements in row-major order. A
// number is held as its bytes; floats of every format go through llvm::APFloat.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_COMMSCHED_RUN_VALUES_H
#define COMMSCHED_TOOLS_COMMSCHED_RUN_VALUES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Support/LLVM.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace mlir::commsched::run {

/// One number in memory. Integers without a sign count as signed.
struct ElementFormat {
  Type type;
  int64_t bytes = 0;
  /// A float's own type, and that of both parts of a complex number; null for
  /// integers.
  FloatType part;
};

struct ValueType {
  bool isScalar = true;
  /// If not, whether it is a memref rather than a tensor.
  bool isMemRef = false;
  /// In the memory of the host, where offloads put it.
  bool isOnHost = false;
  ElementFormat element;
  /// Empty for scalars.
  SmallVector<int64_t> shape;
  /// As MLIR prints it.
  std::string text;

  int64_t getNumBytes() const {
    return ShapedType::getNumElements(shape) * element.bytes;
  }
};

/// The elements of a value, `getNumBytes()` of them.
using Bytes = std::vector<char>;

/// Fails, with the reason in words, for what cannot be passed: a dynamic shape,
/// a layout that is not row-major, an element that is no number of whole bytes.
llvm::Expected<ValueType> getValueType(Type type);

/// Writes `value` in the element's format, rounded to it; its imaginary part,
/// if any, too.
void writeNumber(const ElementFormat &format, double value, char *element);

/// An element with as many digits as identify it.
std::string formatElement(const ElementFormat &format, const char *element);

/// Whether two elements count as equal: the same bytes, both not a number, or
/// floats that differ by no more than `tolerance` times (1 + the larger
/// magnitude).
bool areEqual(const ElementFormat &format, const char *left, const char *right,
              std::optional<double> tolerance);

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_COMMSCHED_RUN_VALUES_H
