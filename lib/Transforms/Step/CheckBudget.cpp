//===- CheckBudget.cpp - Pass that checks a budget of whole steps ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../Joint/SplitFunction.h"
#include "../MemoryBudget.h"
#include "../PassSupport.h"
#include "../Schedule/SchedulingPass.h"
#include "CommSched/Analysis/Costs/Callees.h"
#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Report/StepReport.h"
#include "CommSched/Transforms/Passes.h"
#include "InlinedCalls.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_CHECKBUDGET
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

namespace {

struct CheckBudget
    : SchedulingPass<mlir::commsched::impl::CheckBudgetBase<CheckBudget>,
                     /*hasBudget=*/true, /*hasRewriting=*/false> {
  using SchedulingPass::SchedulingPass;

  void runOnOperation() override;

protected:
  std::optional<std::string> readOwnOptions() override {
    return readReservedOptions();
  }

private:
  LogicalResult check(func::FuncOp function, func::FuncOp simulated,
                      OperationCosts &costs);
};

} // namespace

/// Whether commsched-schedule has not checked the function, or not with the
/// memory of its parts.
static bool isUnchecked(func::FuncOp function, const SymbolTable &symbols) {
  WalkResult parts = function.walk([&](func::CallOp call) {
    return getPart(call, symbols) ? WalkResult::interrupt()
                                  : WalkResult::advance();
  });
  return parts.wasInterrupted() ||
         (function.isPublic() && getBlocksWithCollectives(function).empty());
}

/// Functions with the shapes of all devices: what calls the program of one, and
/// their callers.
static llvm::SetVector<Operation *>
findAroundDevices(ModuleOp module, const SymbolUserMap &users) {
  llvm::SetVector<Operation *> around;
  auto addCallers = [&](Operation *function) {
    for (Operation *user : users.getUsers(function))
      if (auto caller = user->getParentOfType<func::FuncOp>())
        around.insert(caller);
  };
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(perDeviceAttrName))
      addCallers(function);
  for (size_t i = 0; i < around.size(); ++i)
    addCallers(around[i]);
  return around;
}

/// Checks the peak of `function` by the operations of `simulated`.
LogicalResult CheckBudget::check(func::FuncOp function, func::FuncOp simulated,
                                 OperationCosts &costs) {
  std::string reason;
  FailureOr<std::optional<StepReport>> report =
      simulateFunction(simulated, costs, reason,
                       {scheduling.budgetAllocator, /*withBounds=*/false});
  // What is not simulated is said by the report.
  if (failed(report) || !*report)
    return LogicalResult(report);
  int64_t bytes = (*report)->reserved ? (*report)->reserved->reservedBytes
                                      : (*report)->peakMemoryBytes;
  int64_t limitBytes = *scheduling.budget.bytes;
  if (bytes <= limitBytes)
    return success();
  reason = (*report)->reserved ? ("the allocator reserves " + Twine(bytes) +
                                  " bytes for the schedule that needs least, " +
                                  Twine(bytes - limitBytes) +
                                  " over the budget of " + Twine(limitBytes))
                                     .str()
                               : explainExcess(bytes, limitBytes);
  return reportOverBudget(function, memoryBudget, bytes - limitBytes, reason,
                          strict);
}

void CheckBudget::runOnOperation() {
  ModuleOp module = getOperation();
  OperationCosts *costs = getAnalysis<CostAnalysis>().getCosts();
  if (!costs)
    return signalPassFailure();
  if (!scheduling.budget.bytes)
    return markAllAnalysesPreserved();
  Callees callees(module, *costs);
  SymbolTableCollection symbolTables;
  SymbolTable &symbols = symbolTables.getSymbolTable(module);
  SymbolUserMap users(symbolTables, module);
  llvm::SetVector<Operation *> around = findAroundDevices(module, users);
  llvm::SmallPtrSet<Operation *, 4> steps;
  for (const CalledHalves &called : findCalledHalves(module))
    for (auto [forward, backward] : called.calls)
      steps.insert(forward->getParentOfType<func::FuncOp>());
  for (auto function : llvm::to_vector(module.getOps<func::FuncOp>())) {
    if (function.isExternal() || getOverBudgetBytes(function) ||
        around.contains(function) || !isUnchecked(function, symbols))
      continue;
    OwningOpRef<func::FuncOp> merged;
    if (steps.contains(function))
      merged = mergeCopy(function, symbols, callees);
    if (failed(check(function, merged ? *merged : function, *costs)))
      return signalPassFailure();
  }
  for (auto function : module.getOps<func::FuncOp>())
    function->removeDiscardableAttr(budgetRemediesAttrName);
}
