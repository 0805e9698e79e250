//===- DescribeCalls.cpp - What calls say of the functions they call ------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Costs/OperationCosts.h"
#include "CommSched/Analysis/Problem/Aliasing.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Report/StepReport.h"
#include "OutlineRegions.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::commsched;

/// What `result` is a view of; null for what has contents of its own. A
/// destination is one only where nobody else has it.
static Value getViewed(OpResult result) {
  return isa<DestinationStyleOpInterface>(result.getOwner())
             ? Value()
             : getAliasedValue(result);
}

/// Whether all that `function` does is to compute results in storage of their
/// own, one for each. A pipeline may have made its body anything.
static bool onlyComputes(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return false;
  Block &body = function.getBody().front();
  // What values are views of; null for what the caller has, or nobody knows.
  DenseMap<Value, Value> rootOf;
  for (Value argument : body.getArguments())
    rootOf[argument] = Value();
  for (Operation &op : body.without_terminator()) {
    if (!isMemoryEffectFree(&op) ||
        getCommunicationEffect(&op) != CommunicationEffect::None)
      return false;
    for (OpResult result : op.getResults()) {
      if (mayAliasUnknown(result))
        rootOf[result] = Value();
      else if (Value viewed = getViewed(result))
        rootOf[result] = rootOf.lookup_or(viewed, viewed);
    }
  }
  DenseSet<Value> returned;
  return llvm::all_of(body.getTerminator()->getOperands(), [&](Value value) {
    if (!isa<ShapedType>(value.getType()))
      return true;
    Value root = rootOf.lookup_or(value, value);
    return root && returned.insert(root).second;
  });
}

LogicalResult mlir::commsched::describeCall(OutlinedRegion outlined,
                                            OperationCosts &costs) {
  Builder builder(outlined.call.getContext());
  if (onlyComputes(outlined.function))
    outlined.call->setDiscardableAttr(pureAttrName, builder.getUnitAttr());
  if (!outlined.isPinned)
    return success();
  std::string reason;
  FailureOr<std::optional<StepReport>> report =
      simulateFunction(outlined.function, costs, reason);
  if (failed(report))
    return failure();
  if (*report)
    outlined.call->setDiscardableAttr(
        runtimeNsAttrName, builder.getI64IntegerAttr((*report)->stepTimeNs));
  return success();
}
