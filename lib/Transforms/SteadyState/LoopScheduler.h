//===- LoopScheduler.h - Schedules of loops ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the schedule of the body of a loop as a program that repeats, and
// applies it, or replaces a short loop by all its iterations, which are
// scheduled as one program. What runs before the first period and after the
// last one is peeled; the names (`commsched.name`) of what is peeled end with
// the part and the iteration.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_STEADYSTATE_LOOPSCHEDULER_H
#define COMMSCHED_LIB_TRANSFORMS_STEADYSTATE_LOOPSCHEDULER_H

#include "../MemoryBudget.h"
#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/Cyclic/LoopProblem.h"
#include "CommSched/Schedule/Cyclic/CyclicScheduler.h"
#include "mlir/IR/Remarks.h"

namespace mlir::commsched {

struct LoopSchedulingOptions {
  /// Of the function: a fraction is one of what is live in the loop and around
  /// it.
  MemoryBudget budget;
  int32_t maxDepth = 1;
  /// Whether a collective may be in flight from one iteration to the next.
  bool mayCarryFutures = true;
  /// Whether each collective may be carried out by any implementation that the
  /// target lists.
  bool choosesImplementations = false;
  /// Of the step scheduler.
  schedule::StepCache *cache = nullptr;
};

/// A loop with its schedule.
struct ScheduledLoop {
  LoopProblem problem;
  GroupContention contention;
  /// The collectives that another implementation carries out, with its name:
  /// `problem` and `schedule` are with it.
  SmallVector<std::pair<Operation *, StringAttr>> chosen;
  /// Without overlap between iterations.
  schedule::CyclicSchedule program;
  schedule::CyclicSchedule schedule;
  schedule::PeriodBound bound;
  /// What is live around the loop.
  int64_t outerBytes = 0;
  int64_t limitBytes = 0;

  /// The time of `count` iterations by `of`, one of the two schedules, in
  /// nanoseconds.
  int64_t computeRunNs(const schedule::CyclicSchedule &of, int64_t count) const;

  /// The least number of iterations, at least the depth, of which the schedule
  /// is shorter than without overlap; none if it never is. What is gained grows
  /// with the number of iterations.
  std::optional<int64_t> findLeastCount() const;
};

/// Sets `commsched.implementation` on the collectives of `scheduled`, or
/// removes it where it is not `isSet`.
void setChosen(const ScheduledLoop &scheduled, bool isSet);

/// Returns the best schedule of `loop`, around which `outerBytes` are live.
/// None, after a call of `decline`, if LoopProblem has none. Emits an error if
/// a time is not known.
FailureOr<std::optional<ScheduledLoop>>
scheduleLoop(scf::ForOp loop, int64_t outerBytes, OperationCosts &costs,
             const LoopSchedulingOptions &options,
             LoopProblem::DeclineFunction decline);

//===----------------------------------------------------------------------===//
// Application
//===----------------------------------------------------------------------===//

/// Puts a loop whose number of iterations is static, and at least the depth,
/// into its schedule. Returns the loop of the periods. Fails if MLIR's
/// pipeliner does not support the loop, which it has left as it was.
FailureOr<scf::ForOp> applySchedule(scf::ForOp loop,
                                    const ScheduledLoop &scheduled);

/// The same for a loop whose number of iterations is known when it runs:
/// inserts an `scf.if` with the loop in its schedule, for `leastCount`
/// iterations and more, and the loop as it was, for fewer, unless that means
/// none. The names in the latter end with `.few`. `leastCount` is at least the
/// depth.
LogicalResult applyGuardedSchedule(scf::ForOp loop,
                                   const ScheduledLoop &scheduled,
                                   int64_t leastCount);

/// Returns the schedule of `count` iterations within the limit of the loop. The
/// operation of node n is that of node n % numNodes in iteration n / numNodes.
/// None if the bounds are not constants. Emits an error if there is no order.
FailureOr<std::optional<schedule::StepSchedule>>
scheduleUnrolled(scf::ForOp loop, const ScheduledLoop &scheduled,
                 int64_t count);

/// Replaces the loop by all its iterations, in that order. Names
/// (`commsched.name`) end with the iteration. Linear in the result.
void unrollLoop(scf::ForOp loop, const ScheduledLoop &scheduled,
                ArrayRef<schedule::NodeId> order);

/// Adds to a remark on a schedule that is taken what its period is, and what
/// that of the program `before` was.
void addPeriodMetrics(remark::detail::InFlightRemark &record,
                      const schedule::CyclicSchedule &before,
                      const ScheduledLoop &scheduled);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_STEADYSTATE_LOOPSCHEDULER_H
