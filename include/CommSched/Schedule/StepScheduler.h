//===- StepScheduler.h - The shortest step within a memory limit --*- C++
//-*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds an order in which the step is as short as possible while no operation
// exceeds a limit of live bytes. Collectives start as late as is safe, or as
// early as it takes to keep their stream busy; they are waited for when that
// costs nothing or when the memory is needed; and computation moves where that
// fills a gap.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_STEPSCHEDULER_H
#define COMMSCHED_SCHEDULE_STEPSCHEDULER_H

#include "CommSched/Schedule/Contention.h"

#include <limits>

namespace mlir::commsched::schedule {

struct StepSchedulerOptions {
  /// Live bytes, as simulateMemory() counts them, that are never exceeded.
  int64_t limitBytes = std::numeric_limits<int64_t>::max();
  /// What slows down what runs at once.
  Contention contention;
  /// By how many percent longer than they are collectives are taken to be where
  /// that costs no more than a thousandth of the step, so that the schedule
  /// still holds where the costs were wrong.
  int32_t slackPercent = 40;
  /// How many operations all simulations of the improvement phase together may
  /// run through. A number of steps and not of seconds, so that all ranks come
  /// to the same schedule.
  int64_t effort = 1 << 22;
};

/// Which of the candidates a schedule is.
enum class ScheduleOrigin : uint8_t {
  /// The order of the program.
  Program,
  /// overlapSimply().
  SimpleOverlap,
  /// What the scheduler constructed and improved.
  Constructed,
  /// The order that needs least memory; the limit is below what all others
  /// need.
  LeastMemory,
};

struct StepSchedule {
  Order order;
  int64_t stepNs = 0;
  int64_t peakBytes = 0;
  ScheduleOrigin origin = ScheduleOrigin::Program;

  bool fits(int64_t limitBytes) const { return peakBytes <= limitBytes; }
};

/// The best of: the order of the program, overlapSimply(), and what is
/// constructed. Of the candidates within the limit the one with the shortest
/// step; of several the one with the lowest peak, then the first. If none is
/// within the limit, the one with the lowest peak.
///
/// The order of the program has to be legal. The answer is verified: its order
/// is legal, and its time and memory are those of simulate() and
/// simulateMemory().
///
/// A second run on the answer changes nothing: a candidate replaces the
/// program only if it is better.
///
/// Error: the one of `problem`; the program is not a legal order.
/// O((nodes + dependences + uses) log nodes + effort).
Result<StepSchedule> scheduleStep(const Problem &problem,
                                  const StepSchedulerOptions &options);

/// A schedule that is found several times faster and is mostly nearly as good,
/// to tell which of several programs is worth to be scheduled: the best of the
/// order of the program and what is constructed on it. Verified likewise, but
/// another run may better it. Error: as above. O((nodes + dependences + uses)
/// log nodes).
Result<StepSchedule> sketchStep(const Problem &problem,
                                const StepSchedulerOptions &options);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_STEPSCHEDULER_H
