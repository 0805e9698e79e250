//===- MergeChunks.h - Putting chunks together again ------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_SPLIT_MERGECHUNKS_H
#define COMMSCHED_LIB_TRANSFORMS_SPLIT_MERGECHUNKS_H

#include "mlir/IR/Block.h"
#include "mlir/IR/Operation.h"

#include <string>
#include <vector>

namespace mlir::commsched {

/// Chunks that were left alone, and why.
struct UnmergedChunks {
  Operation *chunk;
  /// Such as "chunk 1 is missing".
  std::string reason;
};

struct MergedChunks {
  /// The operations that were put together, in program order.
  std::vector<Operation *> merged;
  /// One for each region that was left alone.
  std::vector<UnmergedChunks> unmerged;
};

/// Replaces the chunks of `block` by the operations that they were made of,
/// where the last chunk of each was. Chunks that are connected are put together
/// only if all of them can be. Linear in the operations of the block, but for
/// sorting.
MergedChunks mergeChunks(Block &block);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_SPLIT_MERGECHUNKS_H
