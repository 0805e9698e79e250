//===- ChunkRings.h - Chunks that go around a ring --------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A gather as a ring: each rank passes the shard that it got last on to the
// next rank. The inverse functions recognize what these create.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_SPLIT_CHUNKRINGS_H
#define COMMSCHED_LIB_TRANSFORMS_SPLIT_CHUNKRINGS_H

#include "CommSched/Dialect/CommSchedDialect.h"

namespace mlir::commsched {

/// Where chunks are in a ring of `size` ranks: chunk c is part number
/// (rank - c) mod size of every value.
struct RingPlaces {
  SmallVector<OpFoldResult, 8> places;
  SmallVector<Operation *, 16> operations;
};
RingPlaces createRingPlaces(OpBuilder &builder, Location loc,
                            FlatSymbolRefAttr group, int64_t size);

/// The group of the ring whose chunk `index` of `count` has the offset `offset`
/// in parts of `size`; null if it is none.
FlatSymbolRefAttr recognizeRingOffset(Value offset, int64_t size, int64_t index,
                                      int64_t count);

/// Starts to send `value` to the next of `size` ranks.
PermuteOp createRingStep(OpBuilder &builder, Location loc, Value value,
                         FlatSymbolRefAttr group, int64_t size);

/// The steps of a ring by which the chunks behind the first one of `chunks`
/// come; the first one is a view of what the rank has.
FailureOr<SmallVector<PermuteOp>> findRingSteps(ArrayRef<Operation *> chunks);

/// A gather, and the wait for it.
struct GatherOfRing {
  AllGatherOp start;
  Operation *wait;
};
/// Creates the gather of `shard` that was a ring, where the last step was, and
/// its wait, where `last` is. Failure if the attributes do not say what they
/// were.
FailureOr<GatherOfRing> createGatherOfRing(ArrayRef<Operation *> chunks,
                                           ArrayRef<PermuteOp> steps,
                                           Operation *last, Value shard);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_SPLIT_CHUNKRINGS_H
