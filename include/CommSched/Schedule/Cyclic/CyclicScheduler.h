//===- CyclicScheduler.h - Scheduler of programs that repeat ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds an order of the period that is as short as possible and whose live
// bytes never exceed a limit. It rotates the period: the operations before a
// cut run in the period before, beside the rest of the repetition before them
// (rotation scheduling: Chao, LaPaugh and Sha, "Rotation Scheduling: A Loop
// Pipelining Algorithm", 1997). The step scheduler then orders the rotated
// period like any other program.
//
// Chooses how the collectives of a program that repeats are carried out,
// together with its schedule: what is exposed in a repetition alone may be
// hidden by another one, where the tax of an implementation counts instead of
// its time.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_CYCLIC_CYCLICSCHEDULER_H
#define COMMSCHED_SCHEDULE_CYCLIC_CYCLICSCHEDULER_H

#include "CommSched/Schedule/Cyclic/Period.h"
#include "CommSched/Schedule/Implementations/Implementations.h"
#include "CommSched/Schedule/Step/StepScheduler.h"

namespace mlir::commsched::schedule {

struct CyclicSchedulerOptions {
  /// Options of each period; `limitBytes` holds for the whole run.
  StepSchedulerOptions step;
  /// How many repetitions may be in progress at once.
  int32_t maxDepth = 4;
  /// Whether a collective may be in flight over the boundary of the period.
  bool mayCrossBoundary = true;
};

struct CyclicSchedule {
  CyclicOrder order;
  int64_t periodNs = 0;
  /// Of the whole run (computeRunPeak()).
  int64_t peakBytes = 0;

  Rank rank(int64_t limitBytes) const {
    return {periodNs, peakBytes, limitBytes};
  }
};

/// Returns `order` with its period (simulatePeriod()) and its peak
/// (computeRunPeak()). Error: it is not legal, or the one of `problem` or
/// `contention`. O((nodes + dependences + uses) * (depth + periods)).
Result<CyclicSchedule> measureCyclic(const CyclicProblem &problem,
                                     CyclicOrder order,
                                     const Contention &contention = {});

/// Returns the best schedule, by rank(), that rotations find, the order of the
/// program included; of equals the first.
///
/// The result is verified: it is legal, and its time and memory are those of
/// simulatePeriod() and computeRunPeak().
///
/// Error: the one of `problem`; the program is not a legal order.
/// O((nodes + dependences + uses) log nodes + effort), some dozens of times.
Result<CyclicSchedule> scheduleCyclic(const CyclicProblem &problem,
                                      const CyclicSchedulerOptions &options);

struct CyclicImplementationSchedule {
  ImplementationChoice choice;
  /// Of the problem with the choice.
  CyclicSchedule schedule;
};

/// Returns `problem` with the choice: withImplementations() of its body.
Result<CyclicProblem>
withImplementations(const CyclicProblem &problem,
                    const Implementations &implementations,
                    const ImplementationChoice &choice);

/// Chooses implementations and a schedule: scheduleImplementations() for the
/// period of the schedule with the first ones, and a schedule for its choice.
/// The result is the best that was found, by rank(), the first implementations
/// with scheduleCyclic() included; of equals those. The contention of `options`
/// is one for the streams of all implementations. Error: that of
/// withImplementations() for the first ones, or of scheduleCyclic(). As long as
/// a few calls of both.
Result<CyclicImplementationSchedule>
scheduleImplementations(const CyclicProblem &problem,
                        const Implementations &implementations,
                        const CyclicSchedulerOptions &options);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_CYCLIC_CYCLICSCHEDULER_H
