//===- MissingFacts.cpp - What a block's problem lacks --------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Problem/MissingFacts.h"
#include "CommSched/Analysis/Costs/OperationCosts.h"
#include "CommSched/Analysis/OperationTexts.h"

using namespace mlir;
using namespace mlir::commsched;

std::optional<std::string>
mlir::commsched::getUnpricedReason(const BlockProblem &block,
                                   OperationCosts &costs) {
  Operation *op = block.getUnpriced();
  if (!op)
    return std::nullopt;
  return describe(op) + ": " + explainUnknownCost(costs, op);
}

std::optional<std::string>
mlir::commsched::getUnsizedReason(const BlockProblem &block) {
  Value value = block.getUnsized();
  if (!value)
    return std::nullopt;
  std::string text;
  llvm::raw_string_ostream(text)
      << "the size of a " << value.getType() << " is not known";
  return text;
}
