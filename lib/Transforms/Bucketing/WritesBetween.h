//===- WritesBetween.h - Whether a tensor keeps its value ----- -*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Some operations write tensors in place. This tells whether one can be read
// later than it is without anybody seeing the difference.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_BUCKETING_WRITESBETWEEN_H
#define COMMSCHED_LIB_TRANSFORMS_BUCKETING_WRITESBETWEEN_H

#include "mlir/IR/Value.h"

namespace mlir::commsched {

/// Whether the storage of `value` may be written by an operation between
/// `first` and `last`, which are operations of one block and in this order.
/// True if the storage cannot be followed: memrefs, what loops carry, results
/// of control flow. Linear in the uses of all views of the storage.
bool mayBeWrittenBetween(Value value, Operation *first, Operation *last);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_BUCKETING_WRITESBETWEEN_H
