//===- ChunkRings.h - Chunks that go around a ring --------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A gather as a ring: each rank passes the shard that it got last on to the
// next rank.
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

/// Starts to send `value` to the next of `size` ranks.
PermuteOp createRingStep(OpBuilder &builder, Location loc, Value value,
                         FlatSymbolRefAttr group, int64_t size);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_SPLIT_CHUNKRINGS_H
