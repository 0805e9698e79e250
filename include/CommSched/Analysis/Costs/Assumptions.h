//===- Assumptions.h - What a problem takes as known ------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the time of an operation or the size of a value is not known, a
// scheduling problem has a stand-in: what is known of the operation, and no
// bytes. This is what passes and reports say about them.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_COSTS_ASSUMPTIONS_H
#define COMMSCHED_ANALYSIS_COSTS_ASSUMPTIONS_H

#include "CommSched/Analysis/Costs/OperationCosts.h"
#include "CommSched/Analysis/Problem/BlockProblem.h"

#include <optional>
#include <string>
#include <vector>

namespace mlir::commsched {

/// The problem of `block` at the prices of `costs`, with StreamOrder::Free.
FailureOr<BlockProblem> priceBlock(Block &block, OperationCosts &costs);

/// A stand-in for what is not known of an operation or a value.
struct Assumption {
  Location location;
  /// The operation or value, the stand-in and the reason, as a remark.
  std::string text;
  /// The time that an operation is assumed to take; none for a value, which is
  /// assumed to have no bytes.
  std::optional<int64_t> timeNs;
};

/// That the time of `op`, which `costs` does not know, is what it is priced at.
Assumption assumeTime(Operation *op, OperationCosts &costs);

/// That `value`, whose size is not known, has no bytes.
Assumption assumeSize(Value value);

/// The times that `block`, which was priced by `costs`, takes as known, in
/// program order.
std::vector<Assumption> listAssumedTimes(const BlockProblem &block,
                                         OperationCosts &costs);

/// The sizes that `block` takes as known.
std::vector<Assumption> listAssumedSizes(const BlockProblem &block);

/// Both.
std::vector<Assumption> listAssumptions(const BlockProblem &block,
                                        OperationCosts &costs);

/// Emits an error about the first operation or value of which `block` takes
/// something as known, if there is any.
LogicalResult refuseAssumptions(const BlockProblem &block,
                                OperationCosts &costs);

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_COSTS_ASSUMPTIONS_H
