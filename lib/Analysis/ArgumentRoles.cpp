//===- ArgumentRoles.cpp - What arguments are for -------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArgumentRoles.h"
#include "CommSched/Dialect/CommSchedAttributes.h"

using namespace mlir;
using namespace mlir::commsched;

FunctionOpInterface mlir::commsched::getFunction(BlockArgument argument) {
  Block *block = argument.getOwner();
  return block->isEntryBlock()
             ? dyn_cast<FunctionOpInterface>(block->getParentOp())
             : FunctionOpInterface();
}

bool mlir::commsched::isFreeable(BlockArgument argument) {
  FunctionOpInterface function = getFunction(argument);
  return function &&
         (function.getArgAttr(argument.getArgNumber(), freeableAttrName) ||
          getRole(argument) == savedActivationRole);
}
