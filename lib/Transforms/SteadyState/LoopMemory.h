//===- LoopMemory.h - Memory around loops -----------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is live around the loops of a function, and its peak with them.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_STEADYSTATE_LOOPMEMORY_H
#define COMMSCHED_LIB_TRANSFORMS_STEADYSTATE_LOOPMEMORY_H

#include "CommSched/Analysis/Cyclic/LoopProblem.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::commsched {

/// The memory of a function without overlap between iterations.
class LoopMemory {
public:
  /// Emits an error as LoopProblem::create() does. Linear in the operations of
  /// the function and of `loops`.
  static FailureOr<LoopMemory> create(func::FuncOp function,
                                      ArrayRef<scf::ForOp> loops,
                                      OperationCosts &costs);

  /// The bytes that are live around a loop while it runs. What the loop returns
  /// and what it writes in place is counted in the loop. What is live around
  /// inner loops is not known, and counts as nothing.
  int64_t getOuterBytes(scf::ForOp loop) const {
    return outerBytes.lookup(loop);
  }

  /// The peak of the function, if the loop is one of its body; else nothing.
  std::optional<int64_t> getPeakAround(scf::ForOp loop) const;

private:
  LogicalResult addLoop(scf::ForOp loop, OperationCosts &costs,
                        const BlockProblem &body,
                        ArrayRef<int64_t> allocatedBytes);

  /// Of the loops of the body.
  DenseMap<scf::ForOp, int64_t> outerBytes;
  int64_t peakBytes = 0;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_STEADYSTATE_LOOPMEMORY_H
