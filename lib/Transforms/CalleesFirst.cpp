//===- CalleesFirst.cpp - Passes on functions, callees first --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Costs/Callees.h"
#include "CommSched/Transforms/Passes.h"
#include "PassSupport.h"
#include "mlir/IR/Threading.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/ScopeExit.h"

#include <atomic>

namespace mlir::commsched {
#define GEN_PASS_DEF_CALLEESFIRST
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

namespace {

struct CalleesFirst : mlir::commsched::impl::CalleesFirstBase<CalleesFirst> {
  using CalleesFirstBase::CalleesFirstBase;

  void getDependentDialects(DialectRegistry &registry) const override;
  LogicalResult initialize(MLIRContext *context) override;
  void runOnOperation() override;

private:
  LogicalResult describe(Callees &callees, size_t level);
  /// Runs the pipelines on functions that do not depend on each other.
  LogicalResult runOn(ArrayRef<FunctionOpInterface> functions);
};

} // namespace

void CalleesFirst::getDependentDialects(DialectRegistry &registry) const {
  CalleesFirstBase::getDependentDialects(registry);
  for (const OpPassManager &pipeline : pipelines)
    pipeline.getDependentDialects(registry);
}

/// Has the options of the passes checked, also where no function runs them.
LogicalResult CalleesFirst::initialize(MLIRContext *context) {
  PassManager checked(context);
  for (const OpPassManager &pipeline : pipelines)
    checked.nest(pipeline.getOpAnchorName()) = pipeline;
  OwningOpRef<ModuleOp> none = ModuleOp::create(UnknownLoc::get(context));
  return checked.run(*none);
}

LogicalResult CalleesFirst::describe(Callees &callees, size_t level) {
  if (!callees.hasCalls(level))
    return success();
  OperationCosts *costs = getAnalysis<CostAnalysis>().getCosts();
  if (!costs)
    return failure();
  callees.describe(level, *costs);
  if (areRemarksEnabled(getOperation()))
    remarkUnknownCallees(callees, level);
  return success();
}

LogicalResult CalleesFirst::runOn(ArrayRef<FunctionOpInterface> functions) {
  SmallVector<Operation *> own;
  for (FunctionOpInterface function : functions)
    if (function->getParentOp() == getOperation())
      own.push_back(function);
  // The threads may not make these.
  for (Operation *function : own)
    getAnalysisManager().nest(function);
  MLIRContext *context = &getContext();
  size_t numThreads = context->isMultithreadingEnabled()
                          ? context->getThreadPool().getMaxConcurrency()
                          : 1;
  using Pipelines = SmallVector<OpPassManager>;
  std::vector<Pipelines> all(std::min(numThreads, own.size()),
                             Pipelines(pipelines.begin(), pipelines.end()));
  std::vector<std::atomic<bool>> areTaken(all.size());
  return failableParallelForEach(context, own, [&](Operation *function) {
    auto taken = llvm::find_if(areTaken, [](std::atomic<bool> &isTaken) {
      return !isTaken.exchange(true);
    });
    llvm::scope_exit give([&] { *taken = false; });
    for (OpPassManager &pipeline : all[taken - areTaken.begin()])
      if (pipeline.getOpAnchorName() == function->getName().getStringRef() &&
          failed(runPipeline(pipeline, function)))
        return failure();
    return success();
  });
}

void CalleesFirst::runOnOperation() {
  Callees callees(getOperation());
  for (size_t level = 0; level < callees.getNumLevels(); ++level)
    if (failed(describe(callees, level)) ||
        failed(runOn(callees.getFunctions(level))))
      return signalPassFailure();
}
