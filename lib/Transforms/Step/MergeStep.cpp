//===- MergeStep.cpp - Pass that merges the functions of a step -----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/SteadyState.h"
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

//===----------------------------------------------------------------------===//
// A function that calls its parts
//===----------------------------------------------------------------------===//

namespace {

/// Makes a function of one that calls its parts.
class StepMerger {
public:
  StepMerger(func::FuncOp step, SymbolTable &symbols)
      : step(step), symbols(symbols), inliner(step) {}

  /// Replaces all calls that can be replaced. Linear in the operations.
  void merge();

  /// The functions whose operations are in the step now.
  ArrayRef<func::FuncOp> getParts() const { return parts.getArrayRef(); }

private:
  /// A call, and of those that have been replaced the one that it was in: its
  /// number counts from 1.
  struct PendingCall {
    func::CallOp call;
    size_t caller = 0;
  };
  struct ReplacedCall {
    func::FuncOp callee;
    size_t caller = 0;
  };

  std::string explainKept(const PendingCall &pending, func::FuncOp callee);
  void inherit(func::CallOp call, func::FuncOp callee);

  func::FuncOp step;
  SymbolTable &symbols;
  BodyInliner inliner;
  SmallVector<ReplacedCall> replaced;
  llvm::SetVector<func::FuncOp> parts;
  /// The arguments of the step that calls took.
  llvm::DenseSet<Value> handedOn;
};

} // namespace

/// Why the call cannot be replaced by what it calls; empty if it can.
std::string StepMerger::explainKept(const PendingCall &pending,
                                    func::FuncOp callee) {
  if (callee.isExternal())
    return "which is only declared";
  if (!hasLoneBlock(callee))
    return "whose body is not one block";
  if (getSteadyState(callee))
    return "which is a part of a steady state";
  bool isRecursive = callee == step;
  for (size_t number = pending.caller; number != 0;
       number = replaced[number - 1].caller)
    isRecursive |= replaced[number - 1].callee == callee;
  return isRecursive ? "which calls itself" : "";
}

/// Gives arguments of the step that no call before took what only the callee
/// says of them.
void StepMerger::inherit(func::CallOp call, func::FuncOp callee) {
  for (auto [index, operand] : llvm::enumerate(call.getOperands())) {
    auto argument = dyn_cast<BlockArgument>(operand);
    if (!argument || argument.getOwner() != &step.getBody().front() ||
        !handedOn.insert(argument).second)
      continue;
    unsigned number = argument.getArgNumber();
    for (StringRef name : {nameAttrName, roleAttrName, sizeHintsAttrName})
      if (Attribute attr = callee.getArgAttr(index, name);
          attr && !step.getArgAttr(number, name))
        step.setArgAttr(number, name, attr);
  }
}

void StepMerger::merge() {
  SmallVector<PendingCall> pending;
  step.walk([&](func::CallOp call) { pending.push_back({call}); });
  std::reverse(pending.begin(), pending.end());
  while (!pending.empty()) {
    PendingCall next = pending.pop_back_val();
    auto callee = symbols.lookup<func::FuncOp>(next.call.getCallee());
    if (!callee || isOperator(next.call))
      continue;
    if (std::string reason = explainKept(next, callee); !reason.empty()) {
      remark::missed(next.call.getLoc(),
                     makeRemark("StepNotMerged", step.getSymName()))
          << ("'@" + step.getSymName() + "' still calls '@" +
              callee.getSymName() + "', " + reason)
                 .str();
      continue;
    }
    inherit(next.call, callee);
    parts.insert(callee);
    replaced.push_back({callee, next.caller});
    size_t first = pending.size();
    inliner.inlineCall(
        next.call, callee, callee.getSymName(),
        [&](func::CallOp call) { pending.push_back({call, replaced.size()}); });
    std::reverse(pending.begin() + first, pending.end());
  }
}

/// Replaces the calls in `function`, and adds to `replaced` what they called.
static void mergeInto(func::FuncOp function, SymbolTable &symbols,
                      llvm::SetVector<func::FuncOp> &replaced) {
  StepMerger merger(function, symbols);
  merger.merge();
  if (merger.getParts().empty())
    return;
  std::string names;
  for (func::FuncOp part : merger.getParts())
    names += (names.empty() ? "'@" : ", '@") + part.getSymName().str() + "'";
  replaced.insert_range(merger.getParts());
  remark::passed(function.getLoc(),
                 makeRemark("StepMerged", function.getSymName()))
      << ("'@" + function.getSymName() + "' is one function now, of " + names)
             .str()
      << remark::metric("Parts", merger.getParts().size());
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
