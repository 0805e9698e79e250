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

#include "mlir/IR/Types.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace mlir::commsched::run {

enum class NumberClass { Bool, Signed, Unsigned, Float, Complex };

/// One number in memory. Integers without a sign count as signed.
struct ElementFormat {
  NumberClass numberClass = NumberClass::Signed;
  int64_t bytes = 0;
  /// Of floats, and of the two parts of complex numbers.
  const llvm::fltSemantics *semantics = nullptr;
};

enum class Storage { Scalar, Tensor, MemRef };

struct ValueType {
  Storage storage = Storage::Scalar;
  /// In the memory of the host, where offloads put it.
  bool isOnHost = false;
  ElementFormat element;
  /// Empty for scalars.
  SmallVector<int64_t> shape;
  /// As MLIR prints it.
  std::string text;

  int64_t getNumElements() const;
  int64_t getNumBytes() const { return getNumElements() * element.bytes; }
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
