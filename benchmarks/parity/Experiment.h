//===- Experiment.h - Passes on one function --------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs passes, or the solvers behind them, on a function in a module of its
// own, and reports the resulting order, its cost and the processor time.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_BENCHMARKS_PARITY_EXPERIMENT_H
#define COMMSCHED_BENCHMARKS_PARITY_EXPERIMENT_H

#include "../common/LoneFunction.h"
#include "Solvers.h"

namespace mlir::commsched {

/// The median of `times`, which are not empty; of an even number the higher of
/// the two in the middle. Changes their order.
int64_t takeMedian(std::vector<int64_t> &times);

/// The outcome of one pipeline or solver.
struct Outcome {
  /// The program's operations, by their places there, in the new order.
  std::vector<int32_t> order;
  /// Processor time of the passes or of the solver, the median over runs.
  int64_t timeNs = 0;
  StepReport report;
  /// The attributes in which passes record the moves of operations, by the
  /// position of the operation in the program.
  std::vector<std::pair<int32_t, DictionaryAttr>> reorderInfos;
};

class Experiment {
public:
  Experiment(FunctionOpInterface function, unsigned numRuns)
      : program(function), numRuns(numRuns) {}

  /// The problem of the program, in which only `commsched.order` and what can
  /// meet different operations on other ranks orders collectives. Emits an
  /// error when a cost or size is not known.
  FailureOr<BlockProblem> createProblem() {
    return program.createProblem(StreamOrder::Free);
  }

  /// The costs of the program's own order.
  FailureOr<StepReport> report() { return program.report(); }

  /// Runs `setup`, if not empty, and then, measured, `pipeline` on copies of
  /// the program. Emits an error when a pass fails or makes or removes
  /// operations.
  FailureOr<Outcome> runPipeline(StringRef setup, StringRef pipeline);

  /// Runs `solver` on createProblem(), completed for it. The problem is there
  /// already: building it is not measured, and neither is moving operations.
  FailureOr<Outcome> runSolver(Solver solver);

private:
  LogicalResult finish(Outcome &outcome, LoneFunction &result,
                       const DenseMap<Operation *, int32_t> &places);

  LoneFunction program;
  unsigned numRuns;
};

} // namespace mlir::commsched

#endif // COMMSCHED_BENCHMARKS_PARITY_EXPERIMENT_H
