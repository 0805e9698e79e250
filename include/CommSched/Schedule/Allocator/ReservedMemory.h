//===- ReservedMemory.h - Memory that the allocator reserves ----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replays the allocations and frees of an order with the model of PyTorch's
// caching allocator.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_ALLOCATOR_RESERVEDMEMORY_H
#define COMMSCHED_SCHEDULE_ALLOCATOR_RESERVEDMEMORY_H

#include "CommSched/Schedule/Allocator/CachingAllocator.h"
#include "CommSched/Schedule/Model/Simulator.h"

namespace mlir::commsched::schedule {

/// What the allocator takes from the device for an order.
struct ReservedMemory {
  /// In all: segments are not given back.
  int64_t reservedBytes = 0;
  /// The part of it that is not live at the peak of live bytes: what rounding,
  /// segments that are not full, and gaps between blocks cost.
  int64_t fragmentationBytes = 0;
};

/// Replays `order` in an allocator that has nothing reserved. Buffers that are
/// live from the start come first, in the order of their indices; then every
/// operation allocates its buffers in that order when the compute stream issues
/// it, and frees those that simulateMemory() frees. What a collective uses is
/// free for others when it has ended by `timeline`, that of the order. Buffers
/// of no bytes take nothing.
///
/// Error: as simulateMemory(), or the sizes do not fit 64 bits once they are
/// rounded. O((nodes + buffers) * log buffers + uses).
Result<ReservedMemory> replayAllocations(const Problem &problem,
                                         const Order &order,
                                         const Timeline &timeline,
                                         SegmentKind kind);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_ALLOCATOR_RESERVEDMEMORY_H
