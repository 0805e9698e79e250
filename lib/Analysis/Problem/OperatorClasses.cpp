//===- OperatorClasses.cpp - What recomputing an operation means ----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Problem/OperatorClasses.h"
#include "CommSched/Analysis/Problem/Aliasing.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/Interfaces/CastInterfaces.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"

using namespace mlir;
using namespace mlir::commsched;
using partition::OperatorClass;

bool mlir::commsched::isNumber(Type type) {
  return type.isIntOrIndexOrFloat() || isa<ComplexType>(type);
}

/// Whether `op` communicates. Of an operation whose effects nothing tells, that
/// is not known; its class need not say so, as nobody may repeat it anyway.
static bool communicates(Operation *op) {
  switch (getCommunicationEffect(op)) {
  case CommunicationEffect::None:
    return false;
  case CommunicationEffect::Start:
  case CommunicationEffect::Wait:
  case CommunicationEffect::Blocking:
    return true;
  case CommunicationEffect::Unknown:
    return !hasUnknownMemoryEffects(op);
  }
  llvm_unreachable("unknown communication effect");
}

static bool isViewOperator(Operation *op) {
  // A destination is written, not shown.
  return op->getNumResults() > 0 && !isa<DestinationStyleOpInterface>(op) &&
         llvm::all_of(op->getResults(), [](OpResult result) {
           return getAliasedValue(result) != nullptr;
         });
}

OperatorClass mlir::commsched::getOperatorClass(Operation *op) {
  if (auto classified = dyn_cast<OperatorClassOpInterface>(op))
    return classified.getOperatorClass();
  if (communicates(op))
    return OperatorClass::Collective;
  if (op->hasTrait<OpTrait::ConstantLike>())
    return OperatorClass::Constant;
  if (isViewOperator(op))
    return OperatorClass::View;
  if (op->hasTrait<OpTrait::Elementwise>() || isa<CastOpInterface>(op))
    return OperatorClass::Pointwise;
  if (auto cost = dyn_cast<CostOpInterface>(op); cost && cost.isExpensive())
    return OperatorClass::ComputeIntensive;
  return OperatorClass::Other;
}
