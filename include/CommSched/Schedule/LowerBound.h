//===- LowerBound.h - What no order can beat --------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A bound on the time of a step that holds for every legal order, so that a
// user sees how far a schedule is from the best possible.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_LOWERBOUND_H
#define COMMSCHED_SCHEDULE_LOWERBOUND_H

#include "CommSched/Schedule/Problem.h"

#include <algorithm>

namespace mlir::commsched::schedule {

/// Three reasons why a step cannot be shorter, in nanoseconds.
struct LowerBound {
  /// The compute stream runs all Compute one after another.
  int64_t computeNs = 0;
  /// The busiest communication stream runs all its collectives one after
  /// another.
  int64_t streamNs = 0;
  /// The busiest stream (the first of several), or noStream if there is none.
  StreamId busiestStream = noStream;
  /// The longest chain of operations that depend on each other.
  int64_t criticalPathNs = 0;

  /// The bound: the largest of the three.
  int64_t ns() const { return std::max({computeNs, streamNs, criticalPathNs}); }
};

/// The bound for `problem`. Error: the problem's own. O(nodes + dependences).
Result<LowerBound> computeLowerBound(const Problem &problem);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_LOWERBOUND_H
