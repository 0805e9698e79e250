//===- OperatorClass.h - What recomputing an operator means -----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The classes of operators that a partitioner tells apart. They say in one word
// what the lists of operators in PyTorch's partitioner say
// (torch/_functorch/partitioners.py, get_default_op_list): a class decides
// whether operators are computed in one kernel and whether they may be
// repeated.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_PARTITION_OPERATORCLASS_H
#define COMMSCHED_PARTITION_OPERATORCLASS_H

#include <cstdint>

namespace mlir::commsched::partition {

/// What an operator does, as far as it matters for computing it twice.
enum class OperatorClass : uint8_t {
  /// Makes every element of its results from the elements at one place.
  Pointwise,
  /// Reads all of its operand and yields less: a sum, a mean, a maximum.
  Reduction,
  /// Copies elements to other places: a clone, an index, a gather of rows.
  DataMovement,
  /// Joins values along a dimension: pointwise producers are computed into it.
  Concatenation,
  /// Shows its operand's storage in another shape.
  View,
  /// Depends on nothing that is computed: a constant, an empty tensor.
  Constant,
  /// Draws random numbers from a state that is no operand.
  Random,
  /// A matrix product, a convolution, attention.
  ComputeIntensive,
  /// Starts, waits for, or is a collective.
  Collective,
  /// Any other.
  Other,
};

/// Whether operators of this class are cheap enough to compute again. That is
/// the reference's allow-list: not joined or other operators, and nothing that
/// draws random numbers, multiplies matrices or communicates.
constexpr bool isRecomputable(OperatorClass kind) {
  return kind <= OperatorClass::DataMovement || kind == OperatorClass::View ||
         kind == OperatorClass::Constant;
}

/// Whether an operator of class `producer` is computed in one kernel with one
/// of class `consumer` that reads its result, so that the result is never
/// written to memory.
constexpr bool areFusible(OperatorClass producer, OperatorClass consumer) {
  auto isFusible = [](OperatorClass kind) {
    return isRecomputable(kind) || kind == OperatorClass::Random;
  };
  return consumer == OperatorClass::Concatenation ||
         (isFusible(producer) && isFusible(consumer));
}

} // namespace mlir::commsched::partition

#endif // COMMSCHED_PARTITION_OPERATORCLASS_H
