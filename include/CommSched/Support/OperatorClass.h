//===- OperatorClass.h - Classes of operators for recomputation -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The classes of operators that a partitioner distinguishes when it decides
// which values to recompute. They summarize the lists of operators in PyTorch's
// partitioner (torch/_functorch/partitioners.py, get_default_op_list).
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SUPPORT_OPERATORCLASS_H
#define COMMSCHED_SUPPORT_OPERATORCLASS_H

#include <cstdint>

namespace mlir::commsched {

/// The class of an operator, as far as it matters for computing it twice.
enum class OperatorClass : uint8_t {
  /// Computes each element of its results from the elements at one place.
  Pointwise,
  /// Reads all of its operand and yields less: a sum, a mean, a maximum.
  Reduction,
  /// Copies elements to other places: a clone, an index, a gather of rows.
  DataMovement,
  /// Joins values along a dimension: pointwise producers are computed into it.
  Concatenation,
  /// Presents its operand's storage in another shape.
  View,
  /// Depends on no computed value: a constant, an empty tensor.
  Constant,
  /// Draws random numbers from a state that is not an operand.
  Random,
  /// A matrix product, a convolution, attention.
  ComputeIntensive,
  /// Starts, waits for, or is a collective.
  Collective,
  /// Any other operator.
  Other,
};

} // namespace mlir::commsched

#endif // COMMSCHED_SUPPORT_OPERATORCLASS_H
