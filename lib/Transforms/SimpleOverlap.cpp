//===- SimpleOverlap.cpp - Pass for overlap without cost estimates --------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Reordering/SimpleOverlap.h"
#include "CommSched/Transforms/Passes.h"
#include "MoveCollectives.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_SIMPLEOVERLAP
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

namespace {

struct SimpleOverlap : mlir::commsched::impl::SimpleOverlapBase<SimpleOverlap> {
  void runOnOperation() override {
    IterativePass pass;
    pass.name = getArgument();
    // The solver checks that the step gets no longer.
    pass.solver.needsCosts = true;
    pass.solver.run = [](const schedule::Problem &problem,
                         const schedule::IterativeReorderingOptions &) {
      return schedule::overlapSimply(problem);
    };
    markAnalysesPreserved<CostAnalysis>();
    FailureOr<bool> changed =
        runIterativePass(getOperation(), pass, getAnalysis<CostAnalysis>());
    if (failed(changed))
      signalPassFailure();
    else if (!*changed)
      markAllAnalysesPreserved();
  }
};

} // namespace
