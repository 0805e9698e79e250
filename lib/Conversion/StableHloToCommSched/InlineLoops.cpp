//===- InlineLoops.cpp - Calls in loops -----------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// JAX writes what a scan computes as a private function that the loop calls.
// MLIR's inliner does not inline operations of unregistered dialects.
//
//===----------------------------------------------------------------------===//

#include "Conversion.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::commsched;

/// Replaces the call by a copy of the body of `callee`; appends the calls in
/// the copy.
static void inlineCall(func::CallOp call, func::FuncOp callee,
                       SmallVectorImpl<func::CallOp> &calls) {
  OpBuilder builder(call);
  IRMapping mapping;
  mapping.map(callee.getArguments(), call.getOperands());
  Block &body = callee.front();
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping)->walk([&](func::CallOp inner) {
      calls.push_back(inner);
    });
  for (auto [result, value] :
       llvm::zip_equal(call.getResults(), body.getTerminator()->getOperands()))
    result.replaceAllUsesWith(mapping.lookupOrDefault(value));
  call.erase();
}

/// Adds `change` for each symbol that `root` or an operation in it names.
/// MLIR's own search ends at operations of unregistered dialects that have a
/// region.
static void countUses(Operation *root, int64_t change,
                      DenseMap<Attribute, int64_t> &numUses) {
  auto count = [&](Attribute attributes) {
    attributes.walk([&](SymbolRefAttr symbol) {
      numUses[symbol.getRootReference()] += change;
    });
  };
  root->walk([&](Operation *op) {
    count(op->getAttrDictionary());
    if (!op->isRegistered())
      if (Attribute properties = op->getPropertiesAsAttribute())
        count(properties);
  });
}

/// Erases those of `functions`, callers first, that nothing uses any more.
static void eraseUnused(ModuleOp module, ArrayRef<func::FuncOp> functions,
                        SymbolTable &symbols) {
  DenseMap<Attribute, int64_t> numUses;
  countUses(module, 1, numUses);
  for (func::FuncOp function : functions) {
    if (numUses.lookup(function.getSymNameAttr()) > 0)
      continue;
    countUses(function, -1, numUses);
    symbols.erase(function);
  }
}

void stablehlo::inlineCallsInLoops(ModuleOp module, SymbolTable &symbols) {
  SmallVector<func::CallOp> calls;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op->getName().getStringRef() != "stablehlo.while")
      return WalkResult::advance();
    op->walk([&](func::CallOp call) { calls.push_back(call); });
    return WalkResult::skip();
  });
  llvm::SetVector<func::FuncOp> inlined;
  auto mayInline = [&](func::FuncOp callee) {
    return callee && callee.isPrivate() && !callee.isExternal() &&
           callee.getBody().hasOneBlock();
  };
  // StableHLO has no recursion; of a program that has, not all is inlined.
  constexpr size_t maxInlined = 1 << 16;
  for (size_t next = 0; next < calls.size() && next < maxInlined; ++next) {
    func::CallOp call = calls[next];
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    if (!mayInline(callee) || callee->isAncestor(call))
      continue;
    inlined.insert(callee);
    inlineCall(call, callee, calls);
  }
  eraseUnused(module, inlined.getArrayRef(), symbols);
}
