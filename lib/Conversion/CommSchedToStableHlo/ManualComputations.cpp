//===- ManualComputations.cpp - Outlined bodies back in place -------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ManualComputations.h"
#include "../StableHlo/StableHlo.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::stablehlo;

static void inlineCall(func::CallOp call, func::FuncOp function) {
  Block &body = function.getBody().front();
  for (auto [argument, operand] :
       llvm::zip_equal(body.getArguments(), call.getOperands()))
    argument.replaceAllUsesWith(operand);
  Operation *end = body.getTerminator();
  call->replaceAllUsesWith(end->getOperands());
  end->erase();
  call->getBlock()->getOperations().splice(call->getIterator(),
                                           body.getOperations());
  call->erase();
  function->erase();
}

LogicalResult
mlir::commsched::stablehlo::inlineManualComputations(ModuleOp module) {
  llvm::MapVector<StringAttr, func::FuncOp> outlined;
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(outlinedMark))
      outlined[function.getSymNameAttr()] = function;
  if (outlined.empty())
    return success();
  DenseMap<StringAttr, SmallVector<func::CallOp>> calls;
  module.walk([&](func::CallOp call) {
    calls[call.getCalleeAttr().getAttr()].push_back(call);
  });
  for (auto [name, function] : outlined) {
    ArrayRef<func::CallOp> own = calls[name];
    bool isRecursive = own.size() == 1 && function->isAncestor(own.front());
    if (own.size() != 1 || isRecursive || !function.getBody().hasOneBlock()) {
      InFlightDiagnostic diag = function.emitOpError(
          "is the body of a manual computation and cannot be put back: ");
      if (isRecursive)
        return diag << "it calls itself";
      if (own.size() == 1)
        return diag << "it has " << function.getBody().getBlocks().size()
                    << " blocks";
      diag << "it is called " << own.size() << " times";
      for (func::CallOp call : own)
        diag.attachNote(call.getLoc()) << "a call";
      return diag;
    }
    inlineCall(own.front(), function);
  }
  return success();
}
