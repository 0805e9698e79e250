//===- CriticalCircle.h - Longest circle of dependences ---------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The circle of dependences that limits the period of a program that repeats.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_CYCLIC_CRITICALCIRCLE_H
#define COMMSCHED_LIB_SCHEDULE_CYCLIC_CRITICALCIRCLE_H

#include "CommSched/Schedule/Model/Problem.h"

namespace mlir::commsched::schedule {

/// A dependence with what passes from the issue of `from` to that of `to`.
struct TimedDependence {
  NodeId from;
  NodeId to;
  int64_t ns;
  /// 0 within a repetition.
  int32_t distance;
};

struct Circle {
  /// In the order of the dependences.
  std::vector<NodeId> nodes;
  int64_t ns = 0;
  int64_t distance = 1;
};

/// Returns a circle with the largest time over distance; an empty one if none
/// takes time. The dependences of distance 0 have no circle.
///
/// Newton's method on the ratio, whose steps look for a circle that is longer
/// by Bellman and Ford's algorithm (Dasdan, "Experimental Analysis of the
/// Fastest Optimum Cycle Ratio and Mean Algorithms", 2004). It relaxes the
/// operations in the order of the dependences of distance 0, so that a round
/// follows a path to the end of its repetition. O(dependences) for each round;
/// a few rounds, unless paths run through many repetitions.
Circle findCriticalCircle(std::vector<TimedDependence> dependences,
                          NodeId numNodes);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_CYCLIC_CRITICALCIRCLE_H
