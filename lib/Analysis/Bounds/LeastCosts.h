//===- LeastCosts.h - Least costs of rewritten operations -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_ANALYSIS_BOUNDS_LEASTCOSTS_H
#define COMMSCHED_LIB_ANALYSIS_BOUNDS_LEASTCOSTS_H

#include "CommSched/Analysis/Costs/OperationCosts.h"
#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "CommSched/Schedule/Bounds/RelaxedProblem.h"

namespace mlir::commsched {

/// The regions of `block` that commsched-schedule may split, without sums.
std::vector<schedule::DivisibleRegion> findDivisibleRegions(Block &block);

/// What rewrites of a function may change in any of its blocks.
struct Freedom {
  /// It has a loop that may be pipelined: operations of any iteration may come
  /// to those of a block.
  bool isPipelined = false;
  /// It has times that assume what is fused, which may change.
  bool isFused = false;
};

/// By node of `problem`: what it takes at least, where it takes `costsNs` as it
/// is, if its collectives are merged in any way and `regions` are split. See
/// computeMergingBoundNs().
std::vector<int64_t> getLeastCosts(const BlockProblem &problem,
                                   OperationCosts &costs,
                                   std::vector<int64_t> costsNs,
                                   ArrayRef<schedule::DivisibleRegion> regions,
                                   Freedom freedom);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_ANALYSIS_BOUNDS_LEASTCOSTS_H
