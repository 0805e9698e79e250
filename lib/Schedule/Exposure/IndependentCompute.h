//===- IndependentCompute.h - What could run beside it ----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How much computation neither precedes a collective nor follows it, whatever
// the order: the most that could ever hide it. To know that exactly takes all
// ancestors of all operations; this is a bound, from some of them.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_EXPOSURE_INDEPENDENTCOMPUTE_H
#define COMMSCHED_LIB_SCHEDULE_EXPOSURE_INDEPENDENTCOMPUTE_H

#include "CommSched/Schedule/Problem.h"

namespace mlir::commsched::schedule {

/// By operation: at most how much computation, in nanoseconds, neither has to
/// precede the collective of a Start or Blocking nor to follow it; 0 for other
/// operations. `problem` has no error.
///
/// Counted as ancestors are, of an operation, those of one of its predecessors
/// with that itself, or those that were passed on to it: each operation passes
/// itself and what it was passed to the one of its successors that most
/// computation depends on. Descendants likewise. O(nodes + dependences).
std::vector<int64_t> boundIndependentCompute(const Problem &problem);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_EXPOSURE_INDEPENDENTCOMPUTE_H
