//===- CyclicImplementations.h - Choice in programs that repeat -*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses how the collectives of a program that repeats are carried out,
// together with its schedule: what is exposed in a repetition alone may be
// hidden by another one, where the tax of an implementation counts instead of
// its time.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_CYCLIC_CYCLICIMPLEMENTATIONS_H
#define COMMSCHED_SCHEDULE_CYCLIC_CYCLICIMPLEMENTATIONS_H

#include "CommSched/Schedule/Cyclic/CyclicScheduler.h"
#include "CommSched/Schedule/Implementations/Implementations.h"

namespace mlir::commsched::schedule {

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

#endif // COMMSCHED_SCHEDULE_CYCLIC_CYCLICIMPLEMENTATIONS_H
