//===- BucketCollectives.h - Merges collectives of a function ---*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the bucketing passes have in common: from the options to the merged
// program.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETCOLLECTIVES_H
#define COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETCOLLECTIVES_H

#include "BucketCandidates.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::commsched {

/// Forms and merges buckets in every block of `function` that holds
/// collectives. What is left alone is left for good: running it again changes
/// nothing. Returns whether anything changed.
FailureOr<bool> bucketCollectives(func::FuncOp function,
                                  BucketingPassOptions &options);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETCOLLECTIVES_H
