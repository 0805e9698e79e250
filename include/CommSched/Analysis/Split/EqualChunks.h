//===- EqualChunks.h - Values whose chunks are equal ------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_SPLIT_EQUALCHUNKS_H
#define COMMSCHED_ANALYSIS_SPLIT_EQUALCHUNKS_H

#include "CommSched/Interfaces/SplitRule.h"
#include "mlir/IR/Value.h"

namespace mlir::commsched {

/// Whether all chunks of `value` are equal when it is divided as `split` says,
/// such as those of a tensor that is filled with one number: an axis of the
/// operation that gives it has no place in an operand, or only in such values.
bool hasEqualChunks(Value value, ValueSplit split);

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_SPLIT_EQUALCHUNKS_H
