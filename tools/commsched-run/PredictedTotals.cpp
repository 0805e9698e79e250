//===- PredictedTotals.cpp - Predictions for all repetitions --------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PredictedTotals.h"

#include "CommSched/Dialect/CommSchedDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::run;

PredictedTotals mlir::commsched::run::getTotals(const StepReport &report) {
  PredictedTotals totals;
  totals.stepNs = report.stepTimeNs;
  totals.exposedNs = report.exposedCommNs;
  totals.peakBytes = report.peakMemoryBytes;
  totals.hostPeakBytes = report.hostPeakBytes;
  totals.evidence = report.evidence;
  return totals;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

static FailureOr<std::optional<PredictedTotals>>
predictStep(const StepPlan &plan, OperationCosts &costs, std::string &reason) {
  FailureOr<std::optional<StepReport>> report =
      simulateFunction(plan.functions.front().function, costs, reason);
  if (failed(report))
    return failure();
  if (!*report)
    return std::optional<PredictedTotals>();
  PredictedTotals totals = getTotals(**report);
  totals.periodNs = (*report)->stepTimeNs;
  totals.stepNs = plan.getNumRepetitions() * (*report)->stepTimeNs;
  totals.exposedNs = plan.getNumRepetitions() * (*report)->exposedCommNs;
  return std::optional(totals);
}

//===----------------------------------------------------------------------===//
// Steady states
//===----------------------------------------------------------------------===//

/// Of few repetitions the time of all is that of a run which has more of them,
/// less their periods.
static FailureOr<std::optional<PredictedTotals>>
predictSteadyState(const StepPlan &plan, OperationCosts &costs,
                   std::string &reason) {
  func::FuncOp steady = plan.functions[1].function;
  // It becomes a loop for that.
  steady.getContext()
      ->loadDialect<arith::ArithDialect, CommSchedDialect, scf::SCFDialect>();
  FailureOr<std::optional<StepReport>> report =
      simulateRepetitions(steady, std::nullopt, costs, reason);
  if (failed(report))
    return failure();
  if (!*report)
    return std::optional<PredictedTotals>();
  const PeriodReport &period = *(*report)->period;
  int64_t repetitions = plan.getNumRepetitions();
  PredictedTotals totals;
  totals.periodNs = period.periodNs;
  totals.peakBytes = (*report)->peakMemoryBytes;
  totals.evidence = (*report)->evidence;
  if (!period.rampNs)
    return std::optional(totals);
  totals.stepNs = repetitions * period.periodNs + *period.rampNs;
  totals.exposedNs = *totals.stepNs - repetitions * (*report)->computeTimeNs;
  return std::optional(totals);
}

FailureOr<std::optional<PredictedTotals>>
mlir::commsched::run::predictRepetitions(const StepPlan &plan,
                                         OperationCosts &costs,
                                         std::string &reason) {
  return plan.depth == 1 ? predictStep(plan, costs, reason)
                         : predictSteadyState(plan, costs, reason);
}
