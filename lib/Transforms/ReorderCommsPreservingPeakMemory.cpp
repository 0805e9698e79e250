//===- ReorderCommsPreservingPeakMemory.cpp - Starts within a budget ------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Transforms/Passes.h"
#include "IterativePasses.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_REORDERCOMMSPRESERVINGPEAKMEMORY
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

namespace {

struct ReorderCommsPreservingPeakMemory
    : mlir::commsched::impl::ReorderCommsPreservingPeakMemoryBase<
          ReorderCommsPreservingPeakMemory> {
  using ReorderCommsPreservingPeakMemoryBase::
      ReorderCommsPreservingPeakMemoryBase;

  LogicalResult initialize(MLIRContext *context) override {
    pass = {};
    pass.name = getArgument();
    pass.solver = ::commsched::reorderComms;
    pass.options.useRuntimeEstimations = useRuntimeEstimations;
    pass.options.extraOverlap = extraOverlap;
    pass.options.commMultiplier = commMultiplier;
    pass.options.computeMultiplier = computeMultiplier;
    pass.options.reorderCollectives = unsafeCollectivesReorder;
    pass.options.withCollectives = groupWithCollectives;
    pass.options.maxGroupSize = maxGroupSize;
    pass.options.recomputeMemory = debugMemoryRecompute;
    pass.collectiveOrder = unsafeCollectivesReorder ? CollectiveOrder::Free
                                                    : CollectiveOrder::Kept;
    pass.writeInfo = verboseLogging;
    IterativePassKnobs knobs;
    knobs.memoryBudget = memoryBudget;
    knobs.peakMemoryBudget = peakMemoryBudget;
    knobs.peakMemoryBudgetName = peakMemoryBudget.getArgStr();
    knobs.extraOverlapName = extraOverlap.getArgStr();
    knobs.referenceMemoryModel = referenceMemoryModel;
    knobs.limitToMove = limitToReorder;
    knobs.limitToMoveName = limitToReorder.getArgStr();
    return setKnobs(pass, knobs, UnknownLoc::get(context));
  }

  void runOnOperation() override {
    FailureOr<bool> changed = runIterativePass(getOperation(), pass);
    if (failed(changed))
      signalPassFailure();
    else if (!*changed)
      markAllAnalysesPreserved();
  }

private:
  /// The options.
  IterativePass pass;
};

} // namespace
