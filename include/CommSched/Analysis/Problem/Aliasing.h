//===- Aliasing.h - What results say about storage --------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the interfaces of an operation tell about the storage that its results
// live in: a view's, a destination's, one of its own, or one that nothing
// tells.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_PROBLEM_ALIASING_H
#define COMMSCHED_ANALYSIS_PROBLEM_ALIASING_H

#include "mlir/IR/Value.h"

namespace mlir::commsched {

/// The value whose storage `result` is a view of or is written into; null when
/// it has a storage of its own, or when nothing is known.
Value getAliasedValue(OpResult result);

/// Whether `result` may live in the storage of an operand, of a value that its
/// regions capture, or anywhere, without `getAliasedValue` telling in which.
bool mayAliasUnknown(OpResult result);

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_PROBLEM_ALIASING_H
