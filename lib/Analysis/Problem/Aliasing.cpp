//===- Aliasing.cpp - Storage that results share --------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Problem/Aliasing.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/Destinations.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mlir::commsched;

Value mlir::commsched::getAliasedValue(OpResult result) {
  Operation *op = result.getOwner();
  if (Value operand = getFusedOperand(op))
    return operand;
  if (auto alias = dyn_cast<AliasOpInterface>(op))
    return alias.getAliasedValue(result);
  if (auto view = dyn_cast<ViewLikeOpInterface>(op))
    return view.getViewDest() == result ? view.getViewSource() : Value();
  if (auto destination = dyn_cast<DestinationStyleOpInterface>(op)) {
    // Bufferization writes in place only values without other users.
    OpOperand *init = destination.getTiedOpOperand(result);
    bool isFree =
        init && llvm::all_of(init->get().getUsers(),
                             [&](Operation *user) { return user == op; });
    return isFree ? init->get() : Value();
  }
  return {};
}

bool mlir::commsched::mayAliasUnknown(OpResult result) {
  Operation *op = result.getOwner();
  if (isa<RegionBranchOpInterface, SelectLikeOpInterface,
          UnrealizedConversionCastOp>(op) ||
      hasUnknownMemoryEffects(op))
    return true;
  // A loop or branch may yield what it captures.
  if (auto regions = dyn_cast<RegionUseOpInterface>(op))
    return regions.getRegionUse() != RegionUse::Element;
  if (!isa<BaseMemRefType>(result.getType()))
    return false;
  auto effects = dyn_cast<MemoryEffectOpInterface>(op);
  return !effects || !effects.getEffectOnValue<MemoryEffects::Allocate>(result);
}

bool mlir::commsched::allResultsAlias(Operation *op) {
  return op->getNumResults() > 0 &&
         llvm::all_of(op->getResults(), [](OpResult result) {
           return getAliasedValue(result) != nullptr;
         });
}

bool mlir::commsched::makesOnlyViews(Operation *op) {
  return !isa<DestinationStyleOpInterface>(op) && !writesDestination(op) &&
         allResultsAlias(op);
}

bool mlir::commsched::isFreeView(Operation *op) {
  if (op->getNumResults() == 0 || op->getNumRegions() != 0 ||
      writesDestination(op))
    return false;
  if (isa<ViewLikeOpInterface>(op))
    return true;
  auto aliases = dyn_cast<AliasOpInterface>(op);
  return aliases && llvm::all_of(op->getOpResults(), [&](OpResult result) {
           return llvm::is_contained(op->getOperands(),
                                     aliases.getAliasedValue(result));
         });
}
