//===- SplitProgram.h - A block with split regions --------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block as it is after splitting, as a trial: the split program is scheduled
// as it will be, and dropped if that does not pay.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_SCHEDULE_SPLITPROGRAM_H
#define COMMSCHED_LIB_TRANSFORMS_SCHEDULE_SPLITPROGRAM_H

#include "../Split/SplitChoice.h"
#include "../Trial.h"

namespace mlir::commsched {

class SplitProgram {
public:
  /// Splits a copy of `block`, a block of `function`, in the order of `choice`.
  /// No value of the block is used outside of it. `chooser` made the choice for
  /// `problem`.
  SplitProgram(func::FuncOp function, Block &block, const BlockProblem &problem,
               const SplitChooser &chooser, SplitChoice choice,
               OperationCosts &costs);

  const SplitChoice &getChoice() const { return choice; }

  /// The operation that `original` is in the split block; null for a member of
  /// a region.
  Operation *getCopy(Operation *original) const {
    return copyOf.lookup(original);
  }

  /// The split block.
  Block &getBlock() { return trial.getBlock(); }
  /// Puts the split operations into the block.
  void adopt() { trial.adopt(); }

private:
  struct Part;

  void order(const BlockProblem &problem, ArrayRef<Part> parts);

  Trial trial;
  SplitChoice choice;
  DenseMap<Operation *, Operation *> copyOf;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_SCHEDULE_SPLITPROGRAM_H
