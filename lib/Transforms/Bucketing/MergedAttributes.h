//===- MergedAttributes.h - What merged operations are called - -*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Location and discardable attributes of an operation that stands for several.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_BUCKETING_MERGEDATTRIBUTES_H
#define COMMSCHED_LIB_TRANSFORMS_BUCKETING_MERGEDATTRIBUTES_H

#include "mlir/IR/Operation.h"

namespace mlir::commsched {

/// The locations of `members`, fused.
Location fuseLocations(ArrayRef<Operation *> members);

/// Sets on `merged` what is known of the operations that it stands for:
///  - `commsched.name`: the names of those that have one, joined by `+`, and
///    `suffix`,
///  - `commsched.module`: the longest dotted path that all modules begin with,
///  - `commsched.partition` and `commsched.recompute`: what all agree on.
/// Sets none that would be empty.
void setMergedAttributes(Operation *merged, ArrayRef<Operation *> members,
                         StringRef suffix = "");

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_BUCKETING_MERGEDATTRIBUTES_H
