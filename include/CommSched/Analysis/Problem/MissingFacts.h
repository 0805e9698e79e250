//===- MissingFacts.h - What a block's problem lacks ------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block can only be simulated or reordered when all its costs and sizes are
// known. Here is what is missing, in words.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_PROBLEM_MISSINGFACTS_H
#define COMMSCHED_ANALYSIS_PROBLEM_MISSINGFACTS_H

#include "CommSched/Analysis/Problem/BlockProblem.h"

namespace mlir::commsched {

class OperationCosts;

/// Why the costs of `block` are not all known: the first operation without one
/// and the value that it is missing for. Nothing if they are. `costs` must be
/// what priced `block`.
std::optional<std::string> getUnpricedReason(const BlockProblem &block,
                                             OperationCosts &costs);

/// Why the sizes of `block` are not all known: the first value without one.
/// Nothing if they are.
std::optional<std::string> getUnsizedReason(const BlockProblem &block);

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_PROBLEM_MISSINGFACTS_H
