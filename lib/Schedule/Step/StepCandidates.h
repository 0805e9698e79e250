//===- StepCandidates.h - Candidates for the order of a step ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_STEP_STEPCANDIDATES_H
#define COMMSCHED_LIB_SCHEDULE_STEP_STEPCANDIDATES_H

#include "CommSched/Schedule/Step/StepScheduler.h"

namespace mlir::commsched::schedule {

/// One round of scheduleStep(): the best of all candidates for the order of a
/// program whose dependences order all uses. `isRepeated`: whether the program
/// is what a round before has made. Error: scheduling made a bad order.
Result<StepSchedule> chooseCandidate(const Problem &problem,
                                     const StepSchedulerOptions &options,
                                     bool isRepeated);

/// The best of the program and of the orders that are constructed for its
/// compute order, and if `mayReorder`, for two others, as far as these take
/// less than `knownNs`. Error: as above.
Result<StepSchedule> sketchCandidates(const Problem &problem,
                                      const StepSchedulerOptions &options,
                                      bool mayReorder, int64_t knownNs);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_STEP_STEPCANDIDATES_H
