//===- SmallSteps.h - Searches for steps of few operations ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Searches for a shorter step: a beam search, which grows orders from their
// beginning, a local search, which moves single operations, and one that moves
// exposed collectives. They are for programs that are small enough to simulate
// some hundred or thousand orders.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_STEP_SMALLSTEPS_H
#define COMMSCHED_LIB_SCHEDULE_STEP_SMALLSTEPS_H

#include "CommSched/Schedule/Step/StepScheduler.h"

#include <optional>

namespace mlir::commsched::schedule {

struct SearchOptions : Objective {
  /// The beam search looks for shorter steps only.
  int64_t belowNs = std::numeric_limits<int64_t>::max();
  /// A lower bound on the step: the search ends when it is reached.
  int64_t goalNs = 0;
  /// How many operations all bounds of a beam search, or all simulations of a
  /// local search, may run through together.
  int64_t effort = 0;
};

/// Returns the order with the shortest step that was found, by simulate()
/// without contention; std::nullopt if there is none within the limit and below
/// `belowNs`, or the effort is spent before the first order is complete.
///
/// A beam search (P. S. Ow and T. E. Morton, "Filtered beam search in
/// scheduling", International Journal of Production Research 26, 1988), with
/// beams of 8 orders, 32, and so on while the effort lasts. All schedule
/// prefixes of a beam are extended by one operation at a time; those with the
/// lowest bounds are kept. The bound is, for each stream, that of one machine
/// with release dates and tails; a prefix whose bound is not below the best
/// step so far is dropped. Of prefixes with the same operations that occupy the
/// compute stream equally long only the best is kept.
///
/// The program has to be a legal order, in which dependences keep every user of
/// a buffer behind its producer. O(effort), and as many bytes as 2 * width *
/// (nodes + buffers + streams) numbers take, in which the square root of the
/// effort is above the nodes times the square root of the width.
std::optional<Order> searchBeam(const Problem &problem,
                                const SearchOptions &options);

/// Returns the order with the shortest step that was found, and of several the
/// one with the lowest peak; `order` itself, which is legal and within the
/// limit, if none is better. Operations move one at a time, to any position
/// that their dependences allow. A longer step is accepted if it is longer by
/// at most a threshold, which decreases to zero (G. Dueck and T. Scheuer,
/// "Threshold accepting", Journal of Computational Physics 90, 1990). The moves
/// are random numbers that depend on the problem only. O(effort).
Order improveOrder(const Problem &problem, const Order &order,
                   const SearchOptions &options);

/// Returns the schedule after the moves that explainExposure() calls unhindered
/// and that make the step shorter, one after the other until there is none.
/// Each one keeps within the limit, or the peak of `schedule` if that is
/// higher. Error: the one of `problem`; the order of `schedule` is not legal.
/// O(nodes + dependences + uses + effort) but for the explanations.
Result<StepSchedule> makeUnhinderedMoves(const Problem &problem,
                                         StepSchedule schedule,
                                         const StepSchedulerOptions &options);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_STEP_SMALLSTEPS_H
