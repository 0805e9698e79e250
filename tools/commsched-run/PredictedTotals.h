//===- PredictedTotals.h - Predictions for all repetitions ------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the cost model says about all calls of a plan together.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_COMMSCHED_RUN_PREDICTEDTOTALS_H
#define COMMSCHED_TOOLS_COMMSCHED_RUN_PREDICTEDTOTALS_H

#include "CommSched/Report/StepReport.h"
#include "StepPlan.h"

namespace mlir::commsched::run {

/// None for what the model does not know.
struct PredictedTotals {
  /// From one repetition to the next.
  std::optional<int64_t> periodNs;
  std::optional<int64_t> stepNs;
  std::optional<int64_t> exposedNs;
  std::optional<int64_t> peakBytes;
  std::optional<int64_t> hostPeakBytes;
  CostEvidence evidence;
};

/// Those of a step that is simulated alone.
PredictedTotals getTotals(const StepReport &report);

/// Those of a plan with repetitions. Without a steady state they follow each
/// other without overlap, since nothing is in flight between them. A steady
/// state is simulated by simulateRepetitions(). None, with the `reason`
/// in words, if a function cannot be simulated.
FailureOr<std::optional<PredictedTotals>>
predictRepetitions(const StepPlan &plan, OperationCosts &costs,
                   std::string &reason);

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_COMMSCHED_RUN_PREDICTEDTOTALS_H
