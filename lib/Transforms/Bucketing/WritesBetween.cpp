//===- WritesBetween.cpp - Whether a tensor keeps its value ---------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WritesBetween.h"

#include "CommSched/Analysis/Problem/Aliasing.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::commsched;

/// Whether `result` is what a collective has written in place.
static bool isWrittenInPlace(OpResult result) {
  auto wait = dyn_cast<WaitOpInterface>(result.getOwner());
  auto start = wait
                   ? dyn_cast_if_present<CollectiveOpInterface>(wait.getStart())
                   : CollectiveOpInterface();
  return start && !start.getDestinations().empty();
}

/// The value that the storage of `value`, a tensor, was made for; null if that
/// is not known.
static Value findRoot(Value value) {
  while (isa<TensorType>(value.getType())) {
    auto result = dyn_cast<OpResult>(value);
    if (!result) {
      Block *block = cast<BlockArgument>(value).getOwner();
      bool isOfFunction = block->isEntryBlock() &&
                          isa<FunctionOpInterface>(block->getParentOp());
      return isOfFunction ? value : Value();
    }
    Value aliased = getAliasedValue(result);
    if (!aliased)
      return mayAliasUnknown(result) || isWrittenInPlace(result) ? Value()
                                                                 : value;
    value = aliased;
  }
  return {};
}

/// Whether `user`, an operation that has `value` as an operand, writes its
/// storage.
static bool writes(Operation *user, Value value) {
  if (auto collective = dyn_cast<CollectiveOpInterface>(user))
    return llvm::is_contained(collective.getDestinations(), value);
  // A callee may write its arguments in place.
  if (isa<CallOpInterface>(user) && hasUnknownMemoryEffects(user))
    return true;
  auto interface = dyn_cast<MemoryEffectOpInterface>(user);
  if (!interface)
    return false;
  SmallVector<MemoryEffects::EffectInstance> effects;
  interface.getEffects(effects);
  return llvm::any_of(effects,
                      [&](const MemoryEffects::EffectInstance &effect) {
                        return effect.getValue() == value &&
                               !isa<MemoryEffects::Read>(effect.getEffect());
                      });
}

/// Whether `user` may give the storage of its operand another name that
/// `getAliasedValue` does not tell.
static bool mayPassOn(Operation *user) {
  if (user->hasTrait<OpTrait::IsTerminator>())
    return !isa<FunctionOpInterface>(user->getParentOp());
  if (isa<CollectiveOpInterface>(user))
    return false;
  return llvm::any_of(user->getOpResults(), [](OpResult result) {
    return isa<ShapedType>(result.getType()) && !getAliasedValue(result) &&
           mayAliasUnknown(result);
  });
}

bool mlir::commsched::mayBeWrittenBetween(Value value, Operation *first,
                                          Operation *last) {
  Value root = findRoot(value);
  if (!root)
    return true;
  Block *block = first->getBlock();
  auto runsBeforeLast = [&](Operation *op) {
    Operation *ancestor = block->findAncestorOpInBlock(*op);
    return !ancestor || ancestor->isBeforeInBlock(last);
  };
  auto runsBetween = [&](Operation *op) {
    Operation *ancestor = block->findAncestorOpInBlock(*op);
    return ancestor && first->isBeforeInBlock(ancestor) &&
           ancestor->isBeforeInBlock(last);
  };
  llvm::SmallSetVector<Value, 4> views;
  views.insert(root);
  for (size_t index = 0; index < views.size(); ++index) {
    Value view = views[index];
    for (Operation *user : view.getUsers()) {
      if (mayPassOn(user) && runsBeforeLast(user))
        return true;
      if (writes(user, view) && runsBetween(user))
        return true;
      for (OpResult result : user->getOpResults())
        if (getAliasedValue(result) == view)
          views.insert(result);
    }
  }
  return false;
}
