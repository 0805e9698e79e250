//===- EqualChunks.cpp - Values whose chunks are equal --------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Split/EqualChunks.h"

#include "CommSched/Interfaces/CommSchedInterfaces.h"

using namespace mlir;
using namespace mlir::commsched;

/// At most `depth` operations in a row: a fill, and what it fills.
static bool findEqualChunks(Value value, ValueSplit split, unsigned depth) {
  auto result = dyn_cast<OpResult>(value);
  if (!result || depth == 0)
    return false;
  auto op = dyn_cast<SplitOpInterface>(result.getOwner());
  // The result of a collective's rule is what its wait gives.
  if (!op || isa<CollectiveOpInterface>(op.getOperation()))
    return false;
  SplitRule rule = op.getSplitRule();
  std::optional<AxisSplit> found =
      findAxisOfResult(rule, result.getResultNumber(), split);
  if (!found)
    return false;
  const SplitAxis &axis = rule.axes[found->axis];
  return llvm::all_of(axis.operands, [&](const AxisPlace &place) {
    return findEqualChunks(op->getOperand(place.value),
                           *getOperandSplit(axis, place.value, found->blocks),
                           depth - 1);
  });
}

bool mlir::commsched::hasEqualChunks(Value value, ValueSplit split) {
  return findEqualChunks(value, split, /*depth=*/3);
}
