//===- Solvers.h - CommSched's solvers without their passes -----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The solvers of the passes that are compared with PyTorch Inductor's, on
// problems that exist already, as Inductor's nodes do when its functions run.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_BENCHMARKS_PARITY_SOLVERS_H
#define COMMSCHED_BENCHMARKS_PARITY_SOLVERS_H

#include "CommSched/Schedule/Model/Problem.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::commsched {

enum class Solver {
  // ListScheduler.
  RaiseComms,
  SinkWaits,
  ReorderForOverlap,
  // IterativeReordering.h.
  ReorderComms,
  SinkWaitsIteratively,
  // PeakMemoryOrders.h.
  LeastPeakMemoryFirst,
  BreadthFirst,
  DepthFirst
};

/// The problem, in which nothing orders collectives, as `solver` is to see it:
/// with all of them in program order, but for the iterative ones; and for the
/// sorts with a dependence of each user of a buffer on its producer.
schedule::Problem completeFor(Solver solver, schedule::Problem problem);

/// Returns the verified order that `solver` finds for the body of `function`.
/// The iterative ones may go 20 % over the peak, as Inductor counts it, and
/// take any number of operations along; the peak is found here, as Inductor's
/// functions do. Error: the solver's own.
Result<schedule::Order> solve(Solver solver, const schedule::Problem &problem,
                              func::FuncOp function);

} // namespace mlir::commsched

#endif // COMMSCHED_BENCHMARKS_PARITY_SOLVERS_H
