//===- Exposure.h - Exposed time of collectives -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The exposed time of a collective as it is seen from its own window, without a
// simulation of the step: its time less that of the computation that runs while
// it is in flight. Solvers that move one collective after the other decide by
// it; it follows ReorderInfo of PyTorch Inductor's comms.py (2.13).
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_INDUCTOR_EXPOSURE_H
#define COMMSCHED_LIB_SCHEDULE_INDUCTOR_EXPOSURE_H

#include "../Model/EditableSchedule.h"
#include "CommSched/Schedule/Inductor/IterativeReordering.h"

namespace mlir::commsched::schedule {

/// By node: the operation at which the window of each start ends, noNode for
/// other operations. `order` is legal. O(nodes) from starts, O(nodes * log
/// nodes) from waits.
std::vector<NodeId> computeWindowEnds(const Problem &problem,
                                      const Order &order, ExposureWalk walk);

/// Returns the operation that ends the window of `start`. O(log n) for each
/// wait (from the start) or start (from the wait) in the window.
NodeId findWindowEnd(const EditableSchedule &schedule, NodeId start,
                     ExposureWalk walk);

/// The computation between `start` and `windowEnd`, in the unit of the
/// schedule's times. O(log n).
int64_t getHidingTime(const EditableSchedule &schedule, NodeId start,
                      NodeId windowEnd);

/// The change of exposed times when a group of operations moves past
/// computation: `own` gains computation and `others` lose it. The values are
/// the exposed times before the move, negative if computation is left over.
struct ExposureTrade {
  int64_t own = 0;
  std::vector<int64_t> others;

  /// The total exposed time after the group has passed computation of `passed`
  /// ≥ 0. A convex function of it.
  int64_t exposedAfter(int64_t passed) const;

  /// From where on every further computation makes the sum larger: the largest
  /// `passed` ≥ 0 at which exposedAfter() is smallest, or no limit (the largest
  /// int64_t) if there are no others.
  int64_t turningPoint() const;
};

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_INDUCTOR_EXPOSURE_H
