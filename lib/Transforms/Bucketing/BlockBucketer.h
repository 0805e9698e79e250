//===- BlockBucketer.h - Merging in the blocks of a function ----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Forms buckets of the collectives of a function, and merges them: what the
// bucketing passes do once their options are read.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_BUCKETING_BLOCKBUCKETER_H
#define COMMSCHED_LIB_TRANSFORMS_BUCKETING_BLOCKBUCKETER_H

#include "BucketChoice.h"

namespace mlir::commsched {

/// Forms and merges buckets in every block of `function` that holds
/// collectives. What is left unbucketed is left for good: running it again
/// changes nothing. Emits remarks. Returns whether anything changed.
FailureOr<bool> bucketCollectives(func::FuncOp function,
                                  const BucketingPassOptions &options,
                                  OperationCosts &costs);

/// The same in one block of `function`, without remarks.
FailureOr<bool> bucketCollectivesIn(Block &block, func::FuncOp function,
                                    const BucketingPassOptions &options,
                                    OperationCosts &costs);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_BUCKETING_BLOCKBUCKETER_H
