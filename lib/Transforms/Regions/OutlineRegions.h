//===- OutlineRegions.h - Sets of operations as functions -------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Moves the sets that were planned to functions of their own, and tells the
// calls what passes need to know of what they call.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_REGIONS_OUTLINEREGIONS_H
#define COMMSCHED_LIB_TRANSFORMS_REGIONS_OUTLINEREGIONS_H

#include "MarkedRegions.h"

namespace mlir::commsched {

class OperationCosts;

/// A set that has become a function.
struct OutlinedRegion {
  func::FuncOp function;
  func::CallOp call;
  int32_t region = 0;
  /// The first member, as it was.
  Location loc;
  OperationName name;
  /// How many members there are.
  size_t numOperations = 0;
  /// Whether a member has a pinned cost.
  bool isPinned = false;
};

/// Outlines the sets of `blocks` to private functions next to those that they
/// are called from, in program order of the calls: `@__marked_region_0` and so
/// on, where that is no symbol yet. They take the values that the set uses, in
/// the order of use, and return those that others use, in program order.
/// Constants are copied instead, and go where nothing is left that uses them.
/// The marks are taken off. Linear in the
/// operations of the module.
SmallVector<OutlinedRegion> outlineRegions(ModuleOp module,
                                           ArrayRef<MarkedBlock> blocks);

/// Describes what is called on the call: `commsched.pure` if the function has
/// no effect, and `commsched.runtime_ns`, the time that its schedule takes as
/// `costs` price it, if members had pinned costs and all are known.
LogicalResult describeCall(OutlinedRegion outlined, OperationCosts &costs);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_REGIONS_OUTLINEREGIONS_H
