//===- Kept.cpp - What blocks in its place --------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What has no form in `commsched` does not end the conversion: it stays where
// it is, is a barrier for what communicates, and costs what the model says.
//
//===----------------------------------------------------------------------===//

#include "Conversion.h"

#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::stablehlo;

Reading mlir::commsched::stablehlo::keep(Operation *op, const Twine &reason,
                                         Context &context) {
  if (!context.isStrict) {
    context.kept.push_back({op, reason.str()});
    return Reading::Kept;
  }
  op->emitOpError("is not converted: ")
      << reason << "; without 'strict' it blocks in its place";
  return Reading::Failed;
}

/// What `op` does in its place, and for how long.
static std::string describePrice(Operation *op, const OperationPrice &price,
                                 OperationCosts &costs) {
  bool isInFlight = getCommunicationEffect(op) == CommunicationEffect::Start;
  std::string text =
      isInFlight ? "it is in flight up to its wait" : "it blocks in its place";
  std::string ns = std::to_string(price.timeNs) + " ns";
  if (price.isKnown())
    return text + ", for " + ns;
  return text + ", for an assumed " + ns + ": " + explainUnknownCost(costs, op);
}

LogicalResult mlir::commsched::stablehlo::remarkOnKept(Context &context) {
  // The texts cost more than the conversion.
  if (context.kept.empty() || !context.module.getContext()->getRemarkEngine())
    return success();
  FailureOr<std::shared_ptr<CostAnalysis>> analysis =
      CostAnalysis::create(context.module);
  if (failed(analysis))
    return failure();
  OperationCosts *costs = (*analysis)->getCosts();
  for (const Kept &kept : context.kept) {
    Operation *op = kept.op;
    auto function = op->getParentOfType<FunctionOpInterface>();
    OperationPrice price = costs->price(op);
    auto remark =
        remark::missed(op->getLoc(), remark::RemarkOpts::name("CollectiveKept")
                                         .category("commsched")
                                         .function(function ? function.getName()
                                                            : StringRef()));
    remark << (op->getName().getStringRef() + " is not converted: " +
               kept.reason + "; " + describePrice(op, price, *costs))
                  .str();
    remark << remark::metric("RuntimeNs", price.timeNs);
  }
  return success();
}
