//===- MoveCollectives.h - Reordering of collectives in a limit -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Applies a solver that moves collectives one by one within a memory limit to a
// function: computes the limit of each block from the budget, reduces the peak
// first where it is over the limit, and reports every move as a remark and as
// `commsched.reorder_info`.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_MOVECOLLECTIVES_H
#define COMMSCHED_LIB_TRANSFORMS_MOVECOLLECTIVES_H

#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Schedule/Inductor/IterativeReordering.h"
#include "MemoryBudget.h"

namespace mlir::commsched {

/// A solver and what it reads of the problem.
struct IterativeSolver {
  using Function = Result<schedule::IterativeReordering>(
      const schedule::Problem &, const schedule::IterativeReorderingOptions &);

  Function *run = nullptr;
  /// Whether it reads costs even without estimations.
  bool needsCosts = false;
};

/// A pass that applies such a solver. The solver gets `options` with the limit
/// of the block.
struct IterativePass {
  /// The name of the pass on the command line.
  StringRef name;
  IterativeSolver solver;
  schedule::IterativeReorderingOptions options;
  /// Without a budget, no block may exceed its own peak.
  std::optional<MemoryBudget> budget;
  StreamOrder collectiveOrder = StreamOrder::Kept;
  /// Keep the order of a block whose simulated step would get longer.
  bool neverLonger = false;
  /// Write `commsched.reorder_info` on each start or wait.
  bool writeInfo = false;
};

/// Runs `pass` on every block of `function` that holds collectives. A block
/// with an unknown size, or with estimations an unknown cost, keeps its order,
/// with a remark. Returns whether anything moved or was written.
/// `analysis` is that of the function.
FailureOr<bool> runIterativePass(func::FuncOp function,
                                 const IterativePass &pass,
                                 CostAnalysis &analysis);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_MOVECOLLECTIVES_H
