//===- ReorderComputeForOverlap.cpp - The pass that hides collectives -----===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Transforms/Passes.h"
#include "ListSchedule.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_REORDERCOMPUTEFOROVERLAP
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

namespace {

struct ReorderComputeForOverlap
    : mlir::commsched::impl::ReorderComputeForOverlapBase<
          ReorderComputeForOverlap> {
  void runOnOperation() override {
    OperationCosts *costs = getAnalysis<CostAnalysis>().getCosts();
    if (!costs)
      return signalPassFailure();
    markAnalysesPreserved<CostAnalysis>();
    schedule::ListSchedulerOptions options;
    options.raiseComms = true;
    options.sinkWaits = true;
    options.reorderForOverlap = true;
    FailureOr<bool> moved = listSchedule(getOperation(), options, costs);
    if (failed(moved))
      signalPassFailure();
    else if (!*moved)
      markAllAnalysesPreserved();
  }
};

} // namespace
