//===- ReinplaceableGathers.h - Gathers done in place -----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A copy-in packs this rank's shards into its slice of a buffer for all ranks.
// The gather of that slice may write the buffer instead of a second one if the
// difference cannot be observed: no other operation uses the buffer's storage
// once the gather has started.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_FSDP_REINPLACEABLEGATHERS_H
#define COMMSCHED_ANALYSIS_FSDP_REINPLACEABLEGATHERS_H

#include "CommSched/Dialect/CommSchedDialect.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::commsched {

/// Why a gather cannot write the buffer of its copy-in.
enum class GatherObstacle {
  None,
  /// It sends other operands along with the slice.
  Coalesced,
  /// The copy-in is in another block, which may run less often.
  OtherBlock,
  /// The slice is this rank's place in another group.
  OtherGroup,
  /// It delivers another type than the buffer's.
  OtherType,
  /// A memref reaches the buffer, so that unknown code may read it.
  Memory,
  /// The buffer, or a view of it, is used outside of the block or returned.
  LivesOn,
  /// An operation uses the buffer later, or a collective that is in flight
  /// then.
  UsedLater,
};

/// A gather of a slice without `into`.
struct SliceGather {
  AllGatherOp gather;
  /// That of the slice; of the first of several.
  AllGatherCopyInOp copyIn;
  GatherObstacle obstacle = GatherObstacle::None;
  /// The one that uses the buffer later.
  Operation *user = nullptr;
};

class ReinplaceableGathers {
public:
  /// Looks at the gathers in all regions of `op`. Linear in the operations of
  /// each block that has such a gather, nested ones included.
  explicit ReinplaceableGathers(Operation *op);

  /// The gathers of slices of each block in program order.
  ArrayRef<SliceGather> getSliceGathers() const { return gathers; }

  /// Whether no gather may write a buffer.
  bool empty() const { return buffers.empty(); }

  /// The buffer that `gather` may write; null if there is none.
  Value getBuffer(AllGatherOp gather) const {
    return buffers.lookup(gather.getOperation());
  }

private:
  SmallVector<SliceGather> gathers;
  DenseMap<Operation *, Value> buffers;
};

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_FSDP_REINPLACEABLEGATHERS_H
