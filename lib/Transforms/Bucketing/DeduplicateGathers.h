//===- DeduplicateGathers.h - Removal of repeated gathers -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// FSDP gathers a parameter in the forward and again in the backward, so that
// the unsharded tensor does not occupy memory in between. The second gather is
// dropped where the memory limit allows the tensor to stay live.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_BUCKETING_DEDUPLICATEGATHERS_H
#define COMMSCHED_LIB_TRANSFORMS_BUCKETING_DEDUPLICATEGATHERS_H

#include "CommSched/Analysis/Costs/OperationCosts.h"
#include "CommSched/Analysis/Fsdp/FsdpAnalysis.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::commsched {

/// Drops gathers of `block`, which is one of `function`, that deliver what an
/// earlier gather has delivered (see EqualGathers.h), those that take longest
/// first, if live bytes stay within `limitBytes` wherever that is kept (see
/// ResultReuse.h); without a limit, that is the peak of the block. Operations
/// that prepared the shards of dropped gathers are removed if they become
/// unused. Gathers of unknown cost come last.
///
/// Emits a remark for each gather that is dropped or could have been, and an
/// error if the block is no scheduling problem. A block with a value of unknown
/// size stays as it is. Returns whether anything changed; then `fsdp`, the
/// analysis of the block, is out of date.
FailureOr<bool> deduplicateGathers(func::FuncOp function, Block &block,
                                   const FsdpAnalysis &fsdp,
                                   OperationCosts &costs,
                                   std::optional<int64_t> limitBytes);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_BUCKETING_DEDUPLICATEGATHERS_H
