//===- ScheduleBlock.cpp - Schedules one block within a limit -------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScheduleBlock.h"
#include "../BlockScheduling.h"
#include "../Remarks.h"
#include "CommSched/Analysis/OperationCosts.h"
#include "CommSched/Schedule/MemoryTimeline.h"
#include "CommSched/Schedule/Simulator.h"
#include "CommSched/Schedule/TightLowerBound.h"

using namespace mlir;
using namespace mlir::commsched;
using ::commsched::MemoryTimeline;
using ::commsched::NodeId;
using ::commsched::Order;
using ::commsched::Problem;
using ::commsched::Result;
using ::commsched::ScheduleOrigin;
using ::commsched::StepSchedule;
using ::commsched::StepSchedulerOptions;
using ::commsched::TightLowerBound;
using ::commsched::Timeline;

static LogicalResult reportNotScheduled(Block &block,
                                        const std::string &reason) {
  return emitError(block.getParentOp()->getLoc(), "cannot be scheduled: ")
         << reason;
}

LogicalResult
BlockScheduler::readContention(SymbolTableCollection &symbolTables) {
  FailureOr<GroupContention> groups =
      computeContention(problem, scheduling->contention, symbolTables);
  if (failed(groups))
    return failure();
  contention = std::move(groups->contention);
  for (Attribute key : groups->unknownGroups)
    remark::analysis(block->getParentOp()->getLoc(),
                     makeRemark("UnknownContention", function.getSymName()))
        << explainUnknownGroup(key);
  return success();
}

FailureOr<std::optional<BlockScheduler>>
BlockScheduler::create(func::FuncOp function, Block &block,
                       const StepScheduling &scheduling, OperationCosts &costs,
                       SymbolTableCollection &symbolTables) {
  using Outcome = std::optional<BlockScheduler>;
  FailureOr<BlockProblem> problem = BlockProblem::create(
      block, [&](Operation *op) { return costs.getRuntimeNs(op); },
      CollectiveOrder::Free);
  if (failed(problem))
    return failure();
  if (Operation *op = problem->getUnpriced())
    return emitError(op->getLoc(), "cannot be scheduled without its time: ")
           << *getUnpricedReason(*problem, costs)
           << "; run commsched-estimate-runtime where sizes are static, or set "
              "commsched.runtime_ns on it";
  if (std::optional<std::string> reason = getUnsizedReason(*problem)) {
    remarkBlockKept(function, problem->getUnsized().getLoc(), *reason);
    return Outcome();
  }
  BlockScheduler scheduler(function, block, std::move(*problem), scheduling);
  if (failed(scheduler.readContention(symbolTables)))
    return failure();
  FailureOr<BlockSchedule> program = scheduler.measure(
      scheduler.problem.getProblem().programOrder(), ScheduleOrigin::Program);
  if (failed(program))
    return failure();
  scheduler.program = std::move(*program);
  return Outcome(std::move(scheduler));
}

int64_t BlockScheduler::getLimitBytes(const MemoryBudget &budget) const {
  return mlir::commsched::getLimitBytes(function, *block, problem.getProblem(),
                                        program.step.peakBytes, budget);
}

FailureOr<BlockSchedule> BlockScheduler::measure(Order order,
                                                 ScheduleOrigin origin) const {
  const Problem &known = problem.getProblem();
  Result<MemoryTimeline> memory = simulateMemory(known, order);
  Result<Timeline> timeline = simulate(known, order, contention);
  Result<TightLowerBound> bound = computeTightLowerBound(known);
  if (!memory || !timeline || !bound)
    return reportNotScheduled(*block, !memory     ? memory.error()
                                      : !timeline ? timeline.error()
                                                  : bound.error());
  BlockSchedule result;
  result.step = {std::move(order), timeline->stepNs, memory->peakBytes, origin};
  result.lowerBoundNs = bound->ns;
  result.exposedNs = timeline->exposedCommNs;
  for (NodeId node = 0; node < known.numNodes(); ++node)
    result.numCollectives += known.isCollective(node);
  return result;
}

FailureOr<BlockSchedule> BlockScheduler::schedule(int64_t limitBytes) const {
  StepSchedulerOptions options;
  options.limitBytes = limitBytes;
  options.contention = contention;
  options.slackPercent = scheduling->slackPercent;
  Result<StepSchedule> step = scheduleStep(problem.getProblem(), options);
  if (!step)
    return reportNotScheduled(*block, step.error());
  return measure(std::move(step->order), step->origin);
}

bool BlockScheduler::apply(const BlockSchedule &schedule) const {
  if (!problem.apply(schedule.step.order))
    return false;
  keepBaselineBytes(function, *block, program.step.peakBytes);
  return true;
}
