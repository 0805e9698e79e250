//===- SmallerOrders.h - Orders that take less memory -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Orders for scheduleStep() to begin with, other than that of the program. It
// moves computation only as far as the windows around its place allow, so that
// a program whose operations are written in a poor order is scheduled poorly.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_STEP_SMALLERORDERS_H
#define COMMSCHED_SCHEDULE_STEP_SMALLERORDERS_H

#include "CommSched/Schedule/Model/Problem.h"

#include <vector>

namespace mlir::commsched::schedule {

struct SmallerOrders {
  /// The least peak that is known, of these orders and that of the program.
  int64_t leastBytes = 0;
  /// The same without those of `nearOrders`.
  int64_t nearBytes = 0;
  /// The smallest peak first.
  std::vector<Order> orders;
  /// Those whose peak is that of the program, or less by a 32nd of it at most.
  std::vector<Order> nearOrders;
};

/// Finds orders whose peak is not above that of the program, all with every
/// collective as late as possible: those of sortLeastPeakMemoryFirst() and
/// sortDepthFirst(), and two along the longest chain of computation, in which
/// what takes memory comes directly before what needs it, and what frees memory
/// as soon as it can. In one of them independent parts are side by side, in the
/// other one after the other.
///
/// A program with the least peak, as frontends write them, has none with a
/// smaller one, whether its collectives overlap already or not.
///
/// Error: the one of `problem`; the program is not a legal order.
/// O((nodes + dependences + uses) log nodes).
Result<SmallerOrders> findSmallerOrders(const Problem &problem);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_STEP_SMALLERORDERS_H
