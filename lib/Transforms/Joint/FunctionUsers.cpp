//===- FunctionUsers.cpp - Who refers to functions ------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FunctionUsers.h"
#include "CommSched/Dialect/CommSchedDialect.h"

using namespace mlir;
using namespace mlir::commsched;

llvm::DenseMap<StringAttr, Operation *>
mlir::commsched::findFunctionUsers(ModuleOp module) {
  llvm::DenseMap<StringAttr, Operation *> users;
  module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<ComputeOp, CollectiveOpInterface, WaitOpInterface>(op))
      return;
    op->getAttrDictionary().walk([&](SymbolRefAttr symbol) {
      users.try_emplace(symbol.getRootReference(), op);
    });
  });
  return users;
}
