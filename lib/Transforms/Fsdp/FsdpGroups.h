//===- FsdpGroups.h - What belongs to a collective of FSDP ------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the gathers and reduce-scatters that copies are around, and the
// operations that belong to their starts and to their waits.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_FSDP_FSDPGROUPS_H
#define COMMSCHED_LIB_TRANSFORMS_FSDP_FSDPGROUPS_H

#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "CommSched/Schedule/Model/Problem.h"

namespace mlir::commsched {

/// A collective with a copy-in, and what belongs to it. Operations are told by
/// their index in the block, which is their node in its problem.
struct FsdpGroup {
  Operation *collective;
  /// AllGather or ReduceScatter.
  cost::CollectiveKind kind;
  /// `all_gather_copy_in` or `chunk_cat`.
  schedule::NodeId copyIn;
  schedule::NodeId wait;
  /// The copy-in, the start, and views between them. For a gather also what
  /// makes the shards ready: operations without effects that have one tensor
  /// operand, constants aside, and that only copy-ins of gathers need.
  /// Ascending.
  SmallVector<schedule::NodeId> startMembers;
  /// The wait. For a gather also `split_with_sizes_copy` of what it gives,
  /// views between them, and `fsdp_copy` of what that gives; for a
  /// reduce-scatter all that follows from it alone by operations without
  /// effects that have one tensor operand. Ascending.
  SmallVector<schedule::NodeId> waitMembers;
};

/// The groups of `block`, which `problem` is made of, in the order of their
/// collectives. An operation that would belong to several is the first one's.
/// Neither expensive operations nor the copies of other collectives belong to
/// any. O(n log n) in the operations, their operands and the dependences.
SmallVector<FsdpGroup> findFsdpGroups(Block &block,
                                      const schedule::Problem &problem);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_FSDP_FSDPGROUPS_H
