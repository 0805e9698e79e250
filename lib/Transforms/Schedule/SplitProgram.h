//===- SplitProgram.h - A block with split regions --------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block as it is after splitting, beside the block as it was, so that the
// split program is scheduled as it will be and dropped if that does not pay.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_SCHEDULE_SPLITPROGRAM_H
#define COMMSCHED_LIB_TRANSFORMS_SCHEDULE_SPLITPROGRAM_H

#include "../Split/SplitChoice.h"

namespace mlir::commsched {

class SplitProgram {
public:
  /// Splits a copy of the operations of `block`, in the order of `choice`, and
  /// leaves the block as it is. No value of the block is used outside of it.
  /// `chooser` made the choice for `problem`.
  SplitProgram(Block &block, const BlockProblem &problem,
               const SplitChooser &chooser, SplitChoice choice,
               OperationCosts &costs);

  SplitProgram(const SplitProgram &) = delete;
  SplitProgram &operator=(const SplitProgram &) = delete;

  const SplitChoice &getChoice() const { return choice; }

  /// The operation that `original` is in the split block; null for a member of
  /// a region.
  Operation *getCopy(Operation *original) const {
    return copyOf.lookup(original);
  }

  /// Exchanges the operations of the block and those that are kept beside it:
  /// the block is split, or again as it was.
  void exchange();

private:
  void addStandIns();
  void split(const BlockProblem &problem, const SplitChooser &chooser,
             const IRMapping &copies, OperationCosts &costs);
  void order(const BlockProblem &problem, const IRMapping &copies,
             ArrayRef<struct SplitParts> parts);

  Block &block;
  SplitChoice choice;
  DenseMap<Operation *, Operation *> copyOf;
  /// Holds the operations that are not in the block, with arguments that stand
  /// for what the block uses from outside and its arguments: nobody shall find
  /// them among their users.
  Block beside;
  DenseMap<Value, Value> standIns;
  DenseMap<Value, Value> originals;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_SCHEDULE_SPLITPROGRAM_H
