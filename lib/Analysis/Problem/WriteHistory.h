//===- WriteHistory.h - When tensors are written in place -------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tells whether a tensor keeps its contents from one operation of a block to
// another, by the same accesses that keep operations in order.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_ANALYSIS_PROBLEM_WRITEHISTORY_H
#define COMMSCHED_LIB_ANALYSIS_PROBLEM_WRITEHISTORY_H

#include "CommSched/Analysis/Problem/StorageAnalysis.h"

namespace mlir::commsched {

class WriteHistory {
public:
  /// Watches `values` in `block`, but not what operations do that
  /// `isIgnored`. Linear in the operations of the block, nested ones included.
  WriteHistory(Block &block, ArrayRef<Value> values,
               function_ref<bool(Operation *)> isIgnored);

  /// The first operation of the block after `from` and not after `to`, both of
  /// the block, that writes the storage of `value`, one of those that are
  /// watched, or may; null if none does. O(log operations).
  Operation *findWrite(Value value, Operation *from, Operation *to) const;

private:
  /// Those that write one object, in program order.
  using Writers = SmallVector<Operation *, 1>;

  StorageAnalysis storages;
  /// By the object's index among storages.
  DenseMap<int32_t, Writers> writers;
  /// Those that may write whatever a memref reaches.
  Writers anywhere;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_ANALYSIS_PROBLEM_WRITEHISTORY_H
