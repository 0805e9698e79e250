//===- ChunkCosts.h - Costs of chunks ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Estimates the costs of the chunks of an operation, and of what divides and
// joins them, before the IR is rewritten. The times are those that
// `OperationCosts` gives the operations that a split creates.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_COSTS_CHUNKCOSTS_H
#define COMMSCHED_ANALYSIS_COSTS_CHUNKCOSTS_H

#include "CommSched/Analysis/Costs/OperationCosts.h"
#include "CommSched/CostModel/ProductWaves.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Interfaces/SplitRule.h"

namespace mlir::commsched {

/// The axis of the whole that a chunk has a part of.
struct ChunkAxis {
  /// The index of the axis in the rule.
  int64_t axis;
  /// The number of chunks.
  int64_t count;
};

/// What `commsched.chunk` of `op` says about the axis; none if `op` is not one
/// of the chunks of an operation.
std::optional<ChunkAxis> getChunkAxis(Operation *op);

/// A product of matrices, whole or the chunk of one.
struct ProductChunk {
  cost::ProductShape whole;
  cost::ProductShape chunk;
  /// The bytes of operands and results of the whole.
  int64_t wholeBytes = 0;
};

/// The shapes of a product by its rule, in which two operands have all sums,
/// and each of them a parallel axis of its own; none for another operation.
/// `op` is the chunk; with a negative axis, it is the whole. Linear in the
/// rule.
std::optional<ProductChunk> getProductChunk(Operation *op, ChunkAxis axis);

/// The same for one of `count` chunks of the operation `whole` along `axis`.
std::optional<ProductChunk> divideProduct(Operation *whole,
                                          const SplitAxis &axis, int64_t count);

/// The time in nanoseconds of one chunk of an operation pinned to `wholeNs`,
/// where the estimates are those of chunk and whole: the pin in their ratio,
/// rounded up. A whole that is estimated to take no time is divided by `count`.
int64_t scalePinnedNs(int64_t wholeNs, int64_t chunkEstimateNs,
                      int64_t wholeEstimateNs, int64_t count);

/// The time in nanoseconds of one of `count` chunks of `whole` along `axis`, an
/// axis of its rule whose size `count` divides: what OperationCosts estimates
/// for the operation that a split creates. A collective takes its bytes; along
/// an axis that is not in the operand it is a ring, whose chunks are sent. A
/// chunk of a pinned operation is scalePinnedNs(). None if the time is not
/// known, or `whole` has no rule.
std::optional<int64_t> estimateChunkNs(OperationCosts &costs, Operation *whole,
                                       const SplitAxis &axis, int64_t count);

/// At most what the chunks of the computation `whole`, which takes `wholeNs`,
/// take together by estimateChunkNs(), along any axis and in any number up to
/// `mostChunks`: usually `wholeNs`, as chunks do all of its arithmetic and move
/// all of its bytes.
int64_t getLeastNsInChunks(OperationCosts &costs, Operation *whole,
                           int64_t wholeNs, int64_t mostChunks);

/// The time in nanoseconds of the copy of a tensor of that type, such as a part
/// that is no view, or chunks that are joined into it; and of the sum of
/// `count` tensors of the type `whole`. None if the size is not static.
std::optional<int64_t> estimateCopyNs(const OperationCosts &costs, Type type);
std::optional<int64_t> estimateSumNs(const OperationCosts &costs, Type whole,
                                     int64_t count);

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_COSTS_CHUNKCOSTS_H
