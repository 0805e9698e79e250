//===- Implementations.h - Choice of collective algorithms ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses for each collective of a step one of several implementations, which
// differ in their time, in the stream that they run on, and, by the stream, in
// how they slow computation down: copy engines instead of multiprocessors,
// fewer channels, a second communicator. What is exposed should be fast, and
// what computation hides should not slow it down. Which is which depends on the
// order of the operations, so the choice and the order are improved in turns.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_IMPLEMENTATIONS_IMPLEMENTATIONS_H
#define COMMSCHED_SCHEDULE_IMPLEMENTATIONS_IMPLEMENTATIONS_H

#include "CommSched/Schedule/Step/StepScheduler.h"

namespace mlir::commsched::schedule {

/// A way to carry out a collective.
struct Implementation {
  int64_t costNs = 0;
  StreamId stream = 0;
};

/// By operation: the ways to carry it out. The first is the one of the problem,
/// with its cost and stream. Empty for an operation without a choice.
using Implementations = std::vector<std::vector<Implementation>>;

/// By operation: the index of its implementation; 0 for one without a choice.
using ImplementationChoice = std::vector<int32_t>;

/// Checks `implementations` for a `problem` without error. Errors name the
/// operation: a list for another number of operations, or for one that is no
/// collective; a first implementation that is not that of the problem; a
/// negative cost or a stream out of range; costs of which some choice does not
/// fit 64 bits. O(nodes + implementations).
Status check(const Implementations &implementations, const Problem &problem);

/// Returns `problem` with the costs and streams of the choice, finalized. Its
/// streams are those of all implementations, so that one Contention is right
/// for every choice. Error: the one of `problem` or of check(); an index out of
/// range. O(nodes + dependences + uses + implementations).
Result<Problem> withImplementations(const Problem &problem,
                                    const Implementations &implementations,
                                    const ImplementationChoice &choice);

/// A choice and an order for it.
struct ImplementationSchedule {
  ImplementationChoice choice;
  /// Of the problem with the choice.
  StepSchedule schedule;
  /// How many operations have another implementation than their first.
  int32_t numChanged = 0;
};

/// Chooses implementations for the operations in `order`, which stays as it is.
/// The step is never longer than with the `initial` choice. Of the choices that
/// are tried, the one with the shortest step is taken, of these the one with
/// the fewest changes of the problem, then the one with the lower indices in
/// front.
///
/// Prices choose first: for several fractions of a collective that might be
/// exposed, each takes the least sum of exposed time and of the computation
/// that it slows down. Then changes are tried, many at once and fewer if that
/// is no improvement: all collectives of a stream, those that are estimated to
/// gain something, single ones, and pairs if they are few. What does not pay is
/// undone at last.
///
/// The contention of `options` is one for the streams of all implementations;
/// of the other options only the effort counts, which bounds the simulations.
/// Error: that of withImplementations() for the initial choice, of check() for
/// the contention, of verify() or of simulate(). O((nodes + dependences + uses
/// + implementations) * log implementations), and at least 32 simulations.
Result<ImplementationSchedule>
chooseImplementations(const Problem &problem,
                      const Implementations &implementations,
                      const Order &order, const ImplementationChoice &initial,
                      const StepSchedulerOptions &options);

/// Chooses implementations and an order: repeats chooseImplementations() and
/// scheduleStep() in turns, from the first implementations and from choices by
/// price. Problems of many operations are scheduled by scheduleStepOnce() or
/// sketchStep().
///
/// The result is verified, and it is the best that was found: within the limit
/// the one with the shortest step; of equal ones the one with the fewest
/// changes, then the first. If none is within the limit, the one with the
/// lowest peak. So the step is never longer than that of `order` with the first
/// implementations if that is within the limit.
///
/// Error and time: as above, and that of a few calls of the scheduler.
Result<ImplementationSchedule> scheduleImplementations(
    const Problem &problem, const Implementations &implementations,
    const Order &order, const StepSchedulerOptions &options);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_IMPLEMENTATIONS_IMPLEMENTATIONS_H
