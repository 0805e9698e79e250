//===- ScheduleRemarks.cpp - Remarks on scheduled blocks ------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleRemarks.h"
#include "../Bucketing/BucketRemarks.h"
#include "../PassSupport.h"
#include "CommSched/Report/ExposureText.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::ExposureCause;
using schedule::ExposureReason;
using schedule::NodeId;
using schedule::Problem;
using schedule::ScheduleOrigin;
using schedule::StepSchedule;

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
                                     const BlockSchedule &schedule) {
  int64_t limitBytes = schedule.limitBytes;
  const Problem &problem = scheduler.getProblem().getProblem();
  const StepSchedule &before = scheduler.getProgram().step;
  const StepSchedule &after = schedule.step;
  Location location = scheduler.getBlock().getParentOp()->getLoc();
  if (!schedule.fits())
    remarkBudgetExceeded(function, problem, after.peakBytes, limitBytes);
  if (after.order == before.order)
    remarkKept(function, location, before, limitBytes);
  else
    remarkScheduled(function, location, before, after, limitBytes);
}

void mlir::commsched::remarkMerging(func::FuncOp function,
                                    const BlockScheduler &scheduler,
                                    const BlockSchedule &schedule) {
  Block &block = scheduler.getBlock();
  if (schedule.buckets) {
    remarkUnbucketed(function, block,
                     explainUnbucketed(scheduler.getProblem(),
                                       scheduler.getMergeable(),
                                       *schedule.buckets));
    return;
  }
  if (!schedule.rejected)
    return;
  const RejectedBuckets &rejected = *schedule.rejected;
  remark::missed(block.getParentOp()->getLoc(),
                 makeRemark("CollectivesNotMerged", function.getSymName()))
      << ("merging " + Twine(rejected.buckets->rule) +
          " would make a step of " + Twine(rejected.stepNs) + " ns and " +
          Twine(rejected.peakBytes) + " bytes, without merging it is " +
          Twine(schedule.step.stepNs) + " ns and " +
          Twine(schedule.step.peakBytes) + " bytes, for a budget of " +
          Twine(schedule.limitBytes))
             .str()
      << remark::metric("StepNsMerged", rejected.stepNs)
      << remark::metric("PeakBytesMerged", rejected.peakBytes)
      << remark::metric("StepNs", schedule.step.stepNs)
      << remark::metric("PeakBytes", schedule.step.peakBytes);
}

LogicalResult mlir::commsched::remarkExposure(func::FuncOp function,
                                              const BlockScheduler &scheduler,
                                              const schedule::Order &order,
                                              int64_t limitBytes) {
  const BlockProblem &problem = scheduler.getProblem();
  FailureOr<std::vector<ExposureReason>> reasons =
      scheduler.explainExposure(order, limitBytes);
  if (failed(reasons))
    return failure();
  for (const ExposureReason &reason : *reasons) {
    Operation *op = problem.getOperation(reason.collective);
    ExposureText text =
        describeExposure(problem.getProblem(), reason, [&](NodeId node) {
          return describe(problem.getOperation(node));
        });
    auto remark = remark::missed(
        op->getLoc(), makeRemark("CollectiveExposed", function.getSymName()));
    remark << describe(op) + " is exposed for " +
                  std::to_string(reason.exposedNs) + " ns: " + text.limit +
                  "; to change that: " + text.remedy
           << remark::metric("ExposedNs", reason.exposedNs)
           << remark::metric("Reason", schedule::toString(reason.cause));
    if (reason.cause == ExposureCause::Memory)
      remark << remark::metric("BytesShort", reason.bytesShort);
    if (reason.gainNs)
      remark << remark::metric("GainNs", *reason.gainNs);
  }
  return success();
}
