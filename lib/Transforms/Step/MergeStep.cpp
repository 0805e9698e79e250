//===- MergeStep.cpp - Pass that merges the functions of a step -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "../SteadyState/CountedLoop.h"
#include "CommSched/Analysis/Cyclic/StepLoop.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "CommSched/Transforms/Passes.h"
#include "InlinedCalls.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_MERGESTEP
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

namespace {

struct MergeStep : mlir::commsched::impl::MergeStepBase<MergeStep> {
  using MergeStepBase::MergeStepBase;

  void runOnOperation() override;

private:
  void mergeInto(func::FuncOp function, SymbolTable &symbols,
                 const Callees &callees,
                 llvm::SetVector<func::FuncOp> &replaced);

  bool keepsCalls = false;
};

} // namespace

/// Whether merging lets what `function` calls overlap with other operations, or
/// with other iterations. The parts of a step are scheduled by themselves,
/// unless a loop repeats them: what a function that repeats calls, a joint
/// function, and the halves of one, which know its graph. So is what a branch
/// calls.
static bool gainsByMerging(func::CallOp call, func::FuncOp function,
                           func::FuncOp callee) {
  for (Operation *op = call->getParentOp(); op != function;
       op = op->getParentOp())
    if (!isLoop(op))
      return false;
  if (call->getParentOp() != function)
    return true;
  bool isPart = StepLoop::repeats(function) ||
                (callee && (callee->hasAttr(numForwardOutputsAttrName) ||
                            callee->hasAttr(graphAttrName)));
  return !isPart &&
         llvm::range_size(call->getBlock()->without_terminator()) > 1;
}

/// Replaces calls in `function`, and adds to `replaced` what they called.
void MergeStep::mergeInto(func::FuncOp function, SymbolTable &symbols,
                          const Callees &callees,
                          llvm::SetVector<func::FuncOp> &replaced) {
  SmallVector<func::FuncOp> parts = inlineCalls(
      function, symbols, callees,
      [&](func::CallOp call, func::FuncOp callee, StringRef reason) {
        keepsCalls = true;
        remark::missed(call.getLoc(),
                       makeRemark("StepNotMerged", function.getSymName()))
            << ("'@" + function.getSymName() + "' still calls '@" +
                callee.getSymName() + "', " + reason)
                   .str();
      },
      [&](func::CallOp call) {
        return !keepParts ||
               gainsByMerging(call, function,
                              symbols.lookup<func::FuncOp>(call.getCallee()));
      });
  if (parts.empty())
    return;
  std::string names;
  for (func::FuncOp part : parts)
    names += (names.empty() ? "'@" : ", '@") + part.getSymName().str() + "'";
  replaced.insert_range(parts);
  remark::passed(function.getLoc(),
                 makeRemark("StepMerged", function.getSymName()))
      << ("'@" + function.getSymName() + "' is one function now, of " + names)
             .str()
      << remark::metric("Parts", parts.size());
}

void MergeStep::runOnOperation() {
  SymbolTable symbols(getOperation());
  Callees callees(getOperation());
  llvm::SetVector<func::FuncOp> replaced;
  bool isAny = keepsCalls = false;
  auto merge = [&](bool isPublic) {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.isPublic() == isPublic && !function.isExternal())
        mergeInto(function, symbols, callees, replaced);
    isAny |= !replaced.empty();
    eraseUnused(replaced.takeVector(), symbols);
  };
  merge(/*isPublic=*/true);
  // A private function that is left is one that is called as it is.
  if (keepParts)
    merge(/*isPublic=*/false);
  else if (!isAny && !keepsCalls)
    remark::missed(getOperation().getLoc(), makeRemark("StepNotMerged", ""))
        << "no public function calls another one";
  if (!isAny)
    markAllAnalysesPreserved();
}
