//===- ScheduleRemarks.cpp - What became of a block -----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleRemarks.h"
#include "../BlockScheduling.h"
#include "../Remarks.h"

using namespace mlir;
using namespace mlir::commsched;
using ::commsched::Problem;
using ::commsched::ScheduleOrigin;
using ::commsched::StepSchedule;

static StringRef toString(ScheduleOrigin origin) {
  switch (origin) {
  case ScheduleOrigin::Program:
    return "program";
  case ScheduleOrigin::SimpleOverlap:
    return "simple-overlap";
  case ScheduleOrigin::Constructed:
    return "constructed";
  case ScheduleOrigin::LeastMemory:
    return "least-memory";
  }
  llvm_unreachable("unknown origin");
}

static void remarkKept(func::FuncOp function, Location location,
                       const StepSchedule &program, int64_t limitBytes) {
  remarkBlockKept(function, location,
                  "no better schedule is known than the program's, which "
                  "takes " +
                      Twine(program.stepNs) + " ns and " +
                      Twine(program.peakBytes) + " bytes, for a budget of " +
                      Twine(limitBytes))
      << remark::metric("StepNs", program.stepNs)
      << remark::metric("PeakBytes", program.peakBytes)
      << remark::metric("BudgetBytes", limitBytes);
}

static void remarkScheduled(func::FuncOp function, Location location,
                            const StepSchedule &before,
                            const StepSchedule &after, int64_t limitBytes) {
  StringRef origin = toString(after.origin);
  remark::passed(location, makeRemark("BlockScheduled", function.getSymName()))
      << ("the step takes " + Twine(after.stepNs) + " ns instead of " +
          Twine(before.stepNs) + ", and " + Twine(after.peakBytes) +
          " bytes instead of " + Twine(before.peakBytes) +
          ", for a budget of " + Twine(limitBytes) + " (" + origin + ")")
             .str()
      << remark::metric("Origin", origin)
      << remark::metric("StepNsBefore", before.stepNs)
      << remark::metric("StepNsAfter", after.stepNs)
      << remark::metric("PeakBytesBefore", before.peakBytes)
      << remark::metric("PeakBytesAfter", after.peakBytes)
      << remark::metric("BudgetBytes", limitBytes);
}

void mlir::commsched::remarkSchedule(func::FuncOp function,
                                     const BlockScheduler &scheduler,
                                     const BlockSchedule &schedule,
                                     int64_t limitBytes) {
  const Problem &problem = scheduler.getProblem().getProblem();
  const StepSchedule &before = scheduler.getProgram().step;
  const StepSchedule &after = schedule.step;
  Location location = scheduler.getBlock().getParentOp()->getLoc();
  if (!after.fits(limitBytes))
    remarkBudgetExceeded(function, problem, after.peakBytes, limitBytes);
  if (after.order == before.order)
    remarkKept(function, location, before, limitBytes);
  else
    remarkScheduled(function, location, before, after, limitBytes);
}
