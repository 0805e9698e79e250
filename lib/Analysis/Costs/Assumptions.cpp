//===- Assumptions.cpp - What a problem takes as known --------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Costs/Assumptions.h"

#include "CommSched/Analysis/OperationTexts.h"

using namespace mlir;
using namespace mlir::commsched;

FailureOr<BlockProblem> mlir::commsched::priceBlock(Block &block,
                                                    OperationCosts &costs) {
  return BlockProblem::create(
      block, [&](Operation *op) { return costs.price(op); }, StreamOrder::Free);
}

Assumption mlir::commsched::assumeTime(Operation *op, OperationCosts &costs) {
  int64_t timeNs = costs.getRuntimeNs(op);
  std::string text = describe(op) + " is assumed to take " +
                     std::to_string(timeNs) +
                     " ns, the least by what is known of it: " +
                     explainUnknownCost(costs, op) +
                     "; commsched.runtime_ns on it gives its time";
  return {op->getLoc(), std::move(text), timeNs};
}

Assumption mlir::commsched::assumeSize(Value value) {
  return {value.getLoc(),
          "live bytes, and what fits a memory budget, are without a value: " +
              explainUnknownSize(value),
          std::nullopt};
}

std::vector<Assumption>
mlir::commsched::listAssumedTimes(const BlockProblem &block,
                                  OperationCosts &costs) {
  std::vector<Assumption> assumptions;
  for (Operation *op : block.getAssumed())
    assumptions.push_back(assumeTime(op, costs));
  return assumptions;
}

std::vector<Assumption>
mlir::commsched::listAssumedSizes(const BlockProblem &block) {
  std::vector<Assumption> assumptions;
  for (Value value : block.getUnsized())
    assumptions.push_back(assumeSize(value));
  return assumptions;
}

std::vector<Assumption>
mlir::commsched::listAssumptions(const BlockProblem &block,
                                 OperationCosts &costs) {
  std::vector<Assumption> assumptions = listAssumedTimes(block, costs);
  llvm::append_range(assumptions, listAssumedSizes(block));
  return assumptions;
}

LogicalResult mlir::commsched::refuseAssumptions(const BlockProblem &block,
                                                 OperationCosts &costs) {
  if (!block.getAssumed().empty()) {
    Operation *op = block.getAssumed().front();
    return emitError(op->getLoc(), "cannot be scheduled without its time: ")
           << describe(op) << ": " << explainUnknownCost(costs, op)
           << "; run commsched-estimate-runtime where sizes are static, or set "
              "commsched.runtime_ns on it";
  }
  if (!block.getUnsized().empty()) {
    Value value = block.getUnsized().front();
    return emitError(value.getLoc(), "cannot be scheduled without its size: ")
           << explainUnknownSize(value);
  }
  return success();
}
