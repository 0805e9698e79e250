//===- ActivationOrigins.cpp - Where saved values come from ---------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ActivationOrigins.h"

#include "CommSched/Analysis/Problem/Aliasing.h"
#include "CommSched/Analysis/Problem/OperatorClasses.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

using namespace mlir;
using namespace mlir::commsched;

/// The value whose numbers `value` has; null if it is computed. Clears `isView`
/// if it has a storage of its own.
Value ActivationOrigins::getSource(Value value, bool &isView) const {
  auto result = dyn_cast<OpResult>(value);
  if (!result)
    return {};
  Operation *op = result.getOwner();
  if (auto wait = dyn_cast<WaitOpInterface>(op)) {
    isView = false;
    return fsdp.getParameter(wait.getStart());
  }
  if (isCast(op)) {
    isView = false;
    return op->getOperand(0);
  }
  // What is written into a destination is computed.
  if (isa<DestinationStyleOpInterface>(op))
    return {};
  return getAliasedValue(result);
}

ActivationOrigins::Origin ActivationOrigins::getOrigin(Value value) {
  SmallVector<std::pair<Value, bool>> chain;
  Origin origin;
  for (Value current = value; current;) {
    if (auto it = known.find(current); it != known.end()) {
      origin = it->second;
      break;
    }
    if (auto argument = dyn_cast<BlockArgument>(current)) {
      origin.argument = argument;
      break;
    }
    bool isView = true;
    Value source = getSource(current, isView);
    chain.emplace_back(current, isView);
    current = source;
  }
  for (auto [link, isView] : llvm::reverse(chain)) {
    origin.isView &= isView;
    known[link] = origin;
  }
  return origin;
}
