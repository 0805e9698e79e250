//===- ChunkAttribute.h - The attribute of chunks ---------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The discardable dictionary `commsched.chunk` of the operations that splitting
// creates.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_DIALECT_CHUNKATTRIBUTE_H
#define COMMSCHED_DIALECT_CHUNKATTRIBUTE_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"
#include <optional>

namespace mlir::commsched {

/// What an operation with `commsched.chunk` does.
enum class ChunkPart {
  /// Computes one of the chunks of an operation. No key `part`.
  Chunk,
  /// Cuts a chunk out of a value: `part = "slice"`.
  Slice,
  /// Puts all chunks of a value together: `part = "whole"`.
  Whole,
  /// Moves a shard of a gather that is a ring from one rank to the next, waits
  /// for that, or is the local shard: `part = "ring"`.
  Ring,
};

/// The entries of the dictionary.
struct ChunkInfo {
  /// `of`: the name of what is in chunks. Chunks of one operation of a block,
  /// and no others, have the same.
  StringAttr of;
  /// `count`: the number of chunks, at least 2.
  int64_t count = 0;
  ChunkPart part = ChunkPart::Chunk;
  /// `index`: the number of the chunk, below `count`. A Whole has none.
  std::optional<int64_t> index;
  /// `axis`, `blocks`: the axis in the operation's rule and the blocks that it
  /// consists of (AxisSplit). Only a Chunk has them; its wait has those of the
  /// collective.
  std::optional<int64_t> axis;
  std::optional<int64_t> blocks;
};

/// The operation's `commsched.chunk`, if it has one.
std::optional<ChunkInfo> getChunkInfo(Operation *op);

/// Sets `commsched.chunk`.
void setChunkInfo(Operation *op, const ChunkInfo &info);

/// Verifies the value of `commsched.chunk` on `op`.
LogicalResult verifyChunkAttribute(Operation *op, Attribute attr);

} // namespace mlir::commsched

#endif // COMMSCHED_DIALECT_CHUNKATTRIBUTE_H
