//===- Annotate.cpp - What callees and callers permit ---------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conversion.h"

#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::stablehlo;

//===----------------------------------------------------------------------===//
// Pure calls
//===----------------------------------------------------------------------===//

/// The function that `op` calls; null if it is not a call or the callee is not
/// a function with a body.
static func::FuncOp getCallee(Operation *op, SymbolTable &symbols) {
  auto call = dyn_cast<func::CallOp>(op);
  if (!call)
    return {};
  auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
  return callee && !callee.isExternal() ? callee : func::FuncOp();
}

/// Whether `op`, apart from its regions and from what it calls, has no effects.
static bool isEffectFree(Operation *op) {
  if (hasUnknownMemoryEffects(op))
    return false;
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  return !effects || effects.hasNoEffect();
}

namespace {

/// Functions of which neither an operation nor a callee has an effect.
class PureFunctions {
public:
  PureFunctions(ModuleOp module, SymbolTable &symbols) {
    for (auto function : module.getOps<func::FuncOp>())
      addFunction(function, symbols);
    // A function calls one of a cycle, or is part of one, if it is never
    // reached from those that call nothing.
    SmallVector<Operation *> ready;
    for (auto function : module.getOps<func::FuncOp>())
      if (numCallees.lookup(function) == 0)
        ready.push_back(function);
    while (!ready.empty()) {
      Operation *function = ready.pop_back_val();
      if (impure.contains(function))
        continue;
      pure.insert(function);
      for (Operation *caller : callers.lookup(function))
        if (--numCallees[caller] == 0)
          ready.push_back(caller);
    }
  }

  bool contains(Operation *function) const { return pure.contains(function); }

private:
  void addFunction(func::FuncOp function, SymbolTable &symbols) {
    if (function.isExternal())
      impure.insert(function);
    function.walk([&](Operation *op) {
      if (op == function)
        return;
      if (func::FuncOp callee = getCallee(op, symbols)) {
        callers[callee].push_back(function);
        ++numCallees[function];
      } else if (!isEffectFree(op)) {
        impure.insert(function);
      }
    });
  }

  llvm::DenseMap<Operation *, SmallVector<Operation *>> callers;
  /// Calls of functions that are not yet known to be pure.
  llvm::DenseMap<Operation *, int64_t> numCallees;
  llvm::DenseSet<Operation *> impure;
  llvm::DenseSet<Operation *> pure;
};

} // namespace

void mlir::commsched::stablehlo::annotatePureCalls(ModuleOp module,
                                                   SymbolTable &symbols) {
  PureFunctions pure(module, symbols);
  auto unit = UnitAttr::get(module.getContext());
  module.walk([&](func::CallOp call) {
    func::FuncOp callee = getCallee(call, symbols);
    if (callee && pure.contains(callee))
      call->setDiscardableAttr(pureAttrName, unit);
  });
}

//===----------------------------------------------------------------------===//
// Donated arguments
//===----------------------------------------------------------------------===//

/// Whether the caller of `function` gives the storage of an argument away.
static bool isDonated(func::FuncOp function, unsigned index) {
  if (function.getArgAttr(index, aliasingOutputName))
    return true;
  Attribute donor = function.getArgAttr(index, bufferDonorName);
  auto boolean = dyn_cast_if_present<BoolAttr>(donor);
  return donor && (!boolean || boolean.getValue());
}

/// Marks the arguments of the outlined function that `call` passes the
/// argument at `index` of a manual computation to, if nothing else uses it.
static void annotateOutlined(BlockArgument argument, SymbolTable &symbols) {
  if (!argument.hasOneUse())
    return;
  OpOperand &use = *argument.use_begin();
  Operation *computation = use.getOwner();
  if (computation->getName().getStringRef() != manualComputationName ||
      computation->getBlock() != argument.getOwner())
    return;
  Block &body = computation->getRegion(0).front();
  auto call = dyn_cast<func::CallOp>(body.front());
  func::FuncOp callee = call ? getCallee(call, symbols) : func::FuncOp();
  if (!callee || !callee->hasAttr(outlinedMark) ||
      use.getOperandNumber() >= body.getNumArguments())
    return;
  callee.setArgAttr(use.getOperandNumber(), freeableAttrName,
                    UnitAttr::get(callee.getContext()));
}

void mlir::commsched::stablehlo::annotateFreeableArguments(
    ModuleOp module, SymbolTable &symbols) {
  auto unit = UnitAttr::get(module.getContext());
  for (auto function : module.getOps<func::FuncOp>()) {
    for (unsigned index = 0; index < function.getNumArguments(); ++index) {
      if (!isDonated(function, index))
        continue;
      function.setArgAttr(index, freeableAttrName, unit);
      if (!function.isExternal())
        annotateOutlined(function.getArgument(index), symbols);
    }
  }
}
