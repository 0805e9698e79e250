//===- BlockScheduling.cpp - What passes that order blocks share ----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockScheduling.h"
#include "CommSched/Analysis/OperationCosts.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "Remarks.h"

using namespace mlir;
using namespace mlir::commsched;

SmallVector<Block *>
mlir::commsched::getBlocksWithCollectives(func::FuncOp function) {
  SmallVector<Block *> blocks;
  function.walk([&](Block *block) {
    if (llvm::any_of(*block, llvm::IsaPred<CollectiveOpInterface>))
      blocks.push_back(block);
  });
  return blocks;
}

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

remark::detail::InFlightRemark
mlir::commsched::remarkBlockKept(func::FuncOp function, Location location,
                                 const Twine &reason) {
  remark::detail::InFlightRemark remark =
      remark::missed(location, makeRemark("BlockKept", function.getSymName()));
  remark << ("not reordered: " + reason).str();
  return remark;
}
