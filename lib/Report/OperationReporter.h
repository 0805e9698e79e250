//===- OperationReporter.h - Operations in reports --------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reports the collectives and the computation of a function, those in loops,
// branches and callees included.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_REPORT_OPERATIONREPORTER_H
#define COMMSCHED_LIB_REPORT_OPERATIONREPORTER_H

#include "ReportParts.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::commsched {

class OperationReporter {
public:
  /// All outlive this. `costs` prices what runs inside of operations.
  OperationReporter(StepReport &report, FunctionOpInterface function,
                    OperationCosts &costs)
      : report(report), function(function), costs(costs) {}

  /// Appends what the simulated `timeline` says about each operation of a
  /// block, and why its collectives are exposed. Emits an error if that cannot
  /// be found out, or if a block inside cannot be simulated.
  LogicalResult addBlock(const BlockProblem &block,
                         const schedule::Timeline &timeline,
                         const schedule::Contention &contention,
                         BlockPlace place = {});

  /// Appends a computation, or what runs inside of it if that communicates.
  LogicalResult addOperation(Operation *op, std::string name, int64_t beginNs,
                             int64_t endNs, int64_t iterations);

private:
  /// The collectives of a block, with their places in the report.
  using Starts = SmallVector<std::pair<schedule::NodeId, size_t>>;

  LogicalResult addRuns(Operation *op, ArrayRef<Block *> blocks,
                        BlockPlace place);
  FailureOr<int64_t> addRun(Block &block, BlockPlace place);
  FailureOr<int64_t> addPipelined(scf::ForOp loop, BlockPlace place);
  LogicalResult addLimits(const BlockProblem &block, const ReportNames &names,
                          const schedule::Contention &contention,
                          const Starts &starts, BlockPlace place);

  StepReport &report;
  FunctionOpInterface function;
  OperationCosts &costs;
};

/// The problem of `block`, with StreamOrder::Free, in which an operation takes
/// as long as the blocks inside take at least: no order of a block takes less,
/// whether iterations of a loop overlap or not. Emits an error as
/// BlockProblem::create() does.
FailureOr<schedule::Problem> makeLeastProblem(Block &block,
                                              OperationCosts &costs);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_REPORT_OPERATIONREPORTER_H
