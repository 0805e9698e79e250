//===- LinkedFunctions.cpp - Functions of a step
//---------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinkedFunctions.h"

#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/SteadyState.h"
#include "CommSched/Dialect/StepAttributes.h"
#include "JoinedFunction.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::commsched;

/// Why the function cannot be part of another one, or an empty text.
static std::string explainNotLinked(func::FuncOp function) {
  std::string symbol = ("'@" + function.getSymName() + "'").str();
  if (!hasLoneBlock(function))
    return "the body of " + symbol + " is not one block";
  if (getSteadyState(function))
    return symbol + " is a part of a steady state";
  return "";
}

SmallVector<func::FuncOp> mlir::commsched::findLinkedFunctions(
    ModuleOp module, function_ref<void(Location, const Twine &)> decline) {
  llvm::StringMap<func::FuncOp> functions;
  for (auto function : module.getOps<func::FuncOp>())
    functions[function.getSymName()] = function;
  llvm::EquivalenceClasses<Operation *> joined;
  for (auto function : module.getOps<func::FuncOp>())
    for (unsigned index : llvm::seq(function.getNumArguments()))
      if (std::optional<StepSource> source = getStepSource(function, index))
        joined.unionSets(function, functions.lookup(source->function));
  SmallVector<func::FuncOp> parts;
  for (auto function : module.getOps<func::FuncOp>())
    if (joined.contains(function))
      parts.push_back(function);
  if (parts.empty()) {
    decline(module.getLoc(),
            "none is linked to another one by '" + sourceAttrName + "'");
    return {};
  }
  for (func::FuncOp function : parts) {
    if (!joined.isEquivalent(function, parts.front())) {
      decline(function.getLoc(),
              "'@" + function.getSymName() + "' and '@" +
                  parts.front().getSymName() +
                  "' are of different steps, which no link joins");
      return {};
    }
    if (std::string obstacle = explainNotLinked(function); !obstacle.empty()) {
      decline(function.getLoc(), obstacle);
      return {};
    }
  }
  if (parts.size() > 1)
    return parts;
  decline(parts.front().getLoc(),
          "'@" + parts.front().getSymName() + "' is the only one of its step");
  return {};
}

void mlir::commsched::unlink(func::FuncOp function) {
  for (unsigned index : llvm::seq(function.getNumArguments()))
    function.removeArgAttr(index, sourceAttrName);
  for (StringRef attr : {backwardAttrName, forwardAttrName, jointAttrName,
                         numForwardOutputsAttrName})
    function->removeDiscardableAttr(attr);
}

void mlir::commsched::eraseReplaced(ArrayRef<func::FuncOp> functions,
                                    StringRef name, SymbolTable &symbols) {
  for (func::FuncOp function : functions)
    unlink(function);
  SymbolTableCollection collection;
  SymbolUserMap users(collection, symbols.getOp());
  for (func::FuncOp function : functions) {
    if (users.useEmpty(function)) {
      symbols.erase(function);
      continue;
    }
    function.setPrivate();
    if (function.getSymName() == name)
      (void)symbols.renameToUnique(function, {});
  }
}
