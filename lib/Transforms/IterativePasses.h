//===- IterativePasses.h - Applies the iterative solvers --------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the passes that move collectives within a memory limit have in common:
// the budget, the schedule that needs least where the budget is too small, and
// the account of every move as remarks and as `commsched.reorder_info`.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_ITERATIVEPASSES_H
#define COMMSCHED_LIB_TRANSFORMS_ITERATIVEPASSES_H

#include "CommSched/Schedule/Inductor/IterativeReordering.h"
#include "MemoryBudget.h"

namespace mlir::commsched {

/// One of these passes. The solver gets `options` with the limit of the block.
struct IterativePass {
  using Solver = Result<schedule::IterativeReordering>(
      const schedule::Problem &, const schedule::IterativeReorderingOptions &);

  /// The pass's flag.
  StringRef name;
  Solver *solver = nullptr;
  schedule::IterativeReorderingOptions options;
  /// None: no block may exceed its own peak, whatever it was before.
  std::optional<MemoryBudget> budget;
  StreamOrder collectiveOrder = StreamOrder::Kept;
  /// Whether the solver looks at costs even without estimations.
  bool usesCosts = false;
  /// Keep the order of a block whose simulated step would get longer.
  bool neverLonger = false;
  /// Write `commsched.reorder_info` on each start or wait.
  bool writeInfo = false;
};

/// Runs `pass` on every block of `function` that holds collectives. A block
/// with a size that is not known, or with estimations a cost, is left as it is,
/// with a remark. Returns whether anything moved or was written.
FailureOr<bool> runIterativePass(func::FuncOp function,
                                 const IterativePass &pass);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_ITERATIVEPASSES_H
