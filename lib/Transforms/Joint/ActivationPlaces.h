//===- ActivationPlaces.h - Where saved values are converted ----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds the places for conversions of saved values that cost the least memory:
// behind the last use in the forward, before the first use in the backward.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_JOINT_ACTIVATIONPLACES_H
#define COMMSCHED_LIB_TRANSFORMS_JOINT_ACTIVATIONPLACES_H

#include "CommSched/Analysis/Problem/StorageAnalysis.h"

namespace mlir::commsched {

/// Where the storages of one block are used for the last time.
class LastUses {
public:
  /// Linear in what StorageAnalysis is linear in.
  explicit LastUses(Block &block);

  /// The operation behind the last one that makes or uses `value` or what
  /// shares its storage; for a collective in flight, behind its wait.
  Operation *getNext(Value value) const;

private:
  Block &block;
  StorageAnalysis storages;
  SmallVector<Operation *> operations;
  DenseMap<Operation *, int32_t> indices;
  SmallVector<int32_t> lastUse;
};

/// The first operation of the block of `argument` that uses it, be it in a
/// region; null if none does.
Operation *findFirstUser(BlockArgument argument);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_JOINT_ACTIVATIONPLACES_H
