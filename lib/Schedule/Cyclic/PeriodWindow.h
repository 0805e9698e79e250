//===- PeriodWindow.h - From an operation to its next repetition *- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A lower bound of the period of a program that repeats. Take an operation v
// and the time from its issue in one repetition to that in the next, on average
// a period: a window. Of an operation x that comes after v and before the next
// v, by dependences, the window has one instance as a whole, and all
// dependences between such instances hold in it. Any other operation takes its
// machine for as long, somewhere in the window, and in pieces at both ends
// where it lies on the boundary. So the window is no shorter than the tight
// lower bound of a program of these instances and of the others without
// dependences: that lets machines interrupt operations, and it is convex in the
// times of those others, of which windows may have different parts.
//
// With it a stream waits in each period for the computation that lies between
// all that it delivers and all that it takes, such as the loss between the
// gathers of parameters and the reductions of gradients.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_CYCLIC_PERIODWINDOW_H
#define COMMSCHED_LIB_SCHEDULE_CYCLIC_PERIODWINDOW_H

#include "CommSched/Schedule/Bounds/LowerBounds.h"

#include <vector>

namespace mlir::commsched::schedule {

/// A dependence with what passes from the issue of `from` to that of `to`.
struct TimedDependence {
  NodeId from;
  NodeId to;
  int64_t ns;
  /// 0 within a repetition.
  int32_t distance;
};

/// The bound of one of the windows that seem the longest, of those of the
/// computation on a critical path of `body`, or of some of it in large
/// programs; 0 if there is none. `dependences` are all of them, carried ones
/// included. O(dependences + nodes log² nodes), times a number that falls from
/// many in small programs to 8.
Result<TightLowerBound>
boundWindow(const Problem &body,
            const std::vector<TimedDependence> &dependences);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_CYCLIC_PERIODWINDOW_H
