//===- Copies.h - Copies of buckets as StableHLO ----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_CONVERSION_COMMSCHEDTOSTABLEHLO_COPIES_H
#define COMMSCHED_LIB_CONVERSION_COMMSCHEDTOSTABLEHLO_COPIES_H

#include "Groups.h"

namespace mlir::commsched::stablehlo {

/// Replaces the uses of the slice that `op` packs. The buffer becomes unused
/// when the collectives that write it in place are lowered; `op` is to be
/// erased then. Failure, with an error, if anything else uses the buffer or a
/// shape is dynamic.
LogicalResult lowerCopyIn(AllGatherCopyInOp op);

/// Replaces and erases `op`. Failure, with an error, if a shape is dynamic.
LogicalResult lowerCopyOut(SplitWithSizesCopyOp op, Groups &groups);
LogicalResult lowerChunkCat(ChunkCatOp op, Groups &groups);

/// The operations of arith, linalg and tensor around the values that buckets
/// transfer: what merging creates. Empty tensors are among them.
class BucketOps {
public:
  /// Collects what computes `value`, which is sent.
  void collectSources(Value value);
  /// Collects what is made of `value`, which was delivered.
  void collectUsers(Value value);

  /// Replaces them by operations of StableHLO. Failure, with an error, if an
  /// undefined value is used.
  LogicalResult lower();

private:
  SmallVector<Operation *> ops;
  DenseSet<Operation *> known;
};

} // namespace mlir::commsched::stablehlo

#endif // COMMSCHED_LIB_CONVERSION_COMMSCHEDTOSTABLEHLO_COPIES_H
