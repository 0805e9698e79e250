//===- MergeStep.cpp - Pass that merges the functions of a step -----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
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
};

} // namespace

/// Replaces the calls in `function`, and adds to `replaced` what they called.
static void mergeInto(func::FuncOp function, SymbolTable &symbols,
                      llvm::SetVector<func::FuncOp> &replaced) {
  SmallVector<func::FuncOp> parts = inlineCalls(
      function, symbols,
      [&](func::CallOp call, func::FuncOp callee, StringRef reason) {
        remark::missed(call.getLoc(),
                       makeRemark("StepNotMerged", function.getSymName()))
            << ("'@" + function.getSymName() + "' still calls '@" +
                callee.getSymName() + "', " + reason)
                   .str();
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
  llvm::SetVector<func::FuncOp> replaced;
  for (auto function : getOperation().getOps<func::FuncOp>())
    if (function.isPublic() && !function.isExternal())
      mergeInto(function, symbols, replaced);
  if (replaced.empty())
    remark::missed(getOperation().getLoc(), makeRemark("StepNotMerged", ""))
        << "no public function calls another one";
  eraseUnused(replaced.getArrayRef(), symbols);
}
