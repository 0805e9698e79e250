//===- LoopScheduler.cpp - Schedules of loops -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "LoopScheduler.h"

#include "../CollectiveAlternatives.h"
#include "../PassSupport.h"
#include "CommSched/Analysis/Bounds/LeastProblem.h"
#include "CommSched/Analysis/Costs/RegionRuns.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "CommSched/Schedule/Cyclic/CyclicScheduler.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

void mlir::commsched::setChosen(const ScheduledLoop &scheduled, bool isSet) {
  for (auto [op, name] : scheduled.chosen) {
    if (isSet)
      op->setDiscardableAttr(implementationAttrName, name);
    else
      op->removeDiscardableAttr(implementationAttrName);
  }
}

/// Reads the loop again with what was chosen, and leaves it as it was.
static LogicalResult readChosen(ScheduledLoop &scheduled, scf::ForOp loop,
                                OperationCosts &costs) {
  setChosen(scheduled, /*isSet=*/true);
  FailureOr<std::optional<LoopProblem>> problem =
      LoopProblem::create(loop, costs, [](Location, StringRef) {});
  FailureOr<GroupContention> groups = failure();
  if (succeeded(problem) && *problem)
    groups = computeContention(**problem, costs.getTarget());
  setChosen(scheduled, /*isSet=*/false);
  if (failed(groups))
    return failure();
  scheduled.problem = std::move(**problem);
  scheduled.contention = std::move(*groups);
  return success();
}

/// Chooses implementations and a schedule, if the target lists any. Returns
/// whether it does.
static FailureOr<bool> chooseImplementations(ScheduledLoop &scheduled,
                                             scf::ForOp loop,
                                             OperationCosts &costs,
                                             CyclicSchedulerOptions options) {
  const CyclicProblem &cyclic = scheduled.problem.getProblem();
  CollectiveAlternatives alternatives(
      cyclic.body(),
      [&](NodeId node) { return scheduled.problem.getOperation(node); }, costs);
  if (!alternatives.hasChoice())
    return false;
  ScanningSymbolTables symbolTables;
  FailureOr<GroupContention> groups = computeContention(
      alternatives.getStreams(), costs.getTarget(), symbolTables);
  if (failed(groups))
    return failure();
  options.step.contention = std::move(groups->contention);
  Result<CyclicImplementationSchedule> found =
      scheduleImplementations(cyclic, alternatives.getAlternatives(), options);
  if (!found)
    return emitError(loop.getLoc())
           << "implementations cannot be chosen: " << found.error();
  scheduled.schedule = std::move(found->schedule);
  for (NodeId node = 0; node < cyclic.body().numNodes(); ++node)
    if (StringAttr name = alternatives.getName(node, found->choice[node]))
      scheduled.chosen.push_back({scheduled.problem.getOperation(node), name});
  if (failed(readChosen(scheduled, loop, costs)))
    return failure();
  return true;
}

/// Whether an iteration takes a value from further back than the iteration
/// before it, which MLIR's pipeliner does not follow.
static bool passesArguments(scf::ForOp loop) {
  return llvm::any_of(
      llvm::zip(loop.getRegionIterArgs(), loop.getYieldedValues()),
      [&](auto pair) {
        auto argument = dyn_cast<BlockArgument>(std::get<1>(pair));
        return argument && argument.getOwner() == loop.getBody() &&
               argument != std::get<0>(pair);
      });
}

/// An operation that takes a future of another stage, where one of the two is a
/// loop in the body; null if there is none. The loop of the periods would carry
/// a future that no pair of a start and a wait stands for.
static Operation *findParted(const ScheduledLoop &scheduled) {
  const LoopProblem &problem = scheduled.problem;
  ArrayRef<int32_t> stages = scheduled.schedule.order.stages;
  DenseMap<Operation *, NodeId> nodeOf;
  for (NodeId node = 0; node < static_cast<NodeId>(stages.size()); ++node)
    nodeOf[problem.getOperation(node)] = node;
  for (auto [node, stage] : llvm::enumerate(stages)) {
    Operation *op = problem.getOperation(static_cast<NodeId>(node));
    NodeId start =
        problem.getProblem().body().startOf(static_cast<NodeId>(node));
    for (Value operand : op->getOperands())
      if (auto made = nodeOf.find(operand.getDefiningOp());
          isa<FutureType>(operand.getType()) && made != nodeOf.end() &&
          made->second != start && stages[made->second] != stage)
        return op;
  }
  return nullptr;
}

FailureOr<std::optional<ScheduledLoop>>
mlir::commsched::scheduleLoop(scf::ForOp loop, int64_t outerBytes,
                              OperationCosts &costs,
                              const LoopSchedulingOptions &options,
                              LoopProblem::DeclineFunction decline) {
  using Outcome = std::optional<ScheduledLoop>;
  if (loop->hasAttr(pipelinedAttrName)) {
    decline(loop.getLoc(),
            "has collectives in flight from one iteration to the next already");
    return Outcome();
  }
  if (passesArguments(loop)) {
    decline(loop.getBody()->getTerminator()->getLoc(),
            "yields an argument of its body as another one, which is then two "
            "iterations old");
    return Outcome();
  }
  FailureOr<std::optional<LoopProblem>> problem =
      LoopProblem::create(loop, costs, decline);
  if (failed(problem))
    return failure();
  if (!*problem)
    return Outcome();
  ScheduledLoop result = {std::move(**problem), {}, {}, {}, {}, {}, 0, 0};
  FailureOr<GroupContention> groups =
      computeContention(result.problem, costs.getTarget());
  if (failed(groups))
    return failure();
  result.contention = std::move(*groups);
  const CyclicProblem &cyclic = result.problem.getProblem();
  const Contention &contention = result.contention.contention;
  Result<CyclicSchedule> program =
      measureCyclic(cyclic, programOrder(cyclic), contention);
  if (!program)
    return emitError(loop.getLoc())
           << "cannot be scheduled: " << program.error();
  FailureOr<PeriodBound> bound = computeLeastPeriodBound(result.problem, costs);
  if (failed(bound))
    return failure();
  result.program = std::move(*program);
  result.bound = std::move(*bound);
  result.outerBytes = outerBytes;
  result.limitBytes =
      options.budget.getLimitBytes(result.program.peakBytes + outerBytes) -
      outerBytes;
  CyclicSchedulerOptions with;
  with.maxDepth = options.maxDepth;
  with.mayCrossBoundary = options.mayCarryFutures;
  with.step.slackPercent = costs.getSlackPercent();
  with.step.limitBytes = result.limitBytes;
  with.step.contention = contention;
  with.step.cache = options.cache;
  FailureOr<bool> isChosen = false;
  if (options.choosesImplementations)
    isChosen = chooseImplementations(result, loop, costs, with);
  if (failed(isChosen))
    return failure();
  if (!*isChosen) {
    Result<CyclicSchedule> schedule = scheduleCyclic(cyclic, with);
    if (!schedule)
      return emitError(loop.getLoc())
             << "cannot be scheduled: " << schedule.error();
    result.schedule = std::move(*schedule);
  }
  if (Operation *parted = findParted(result)) {
    decline(parted->getLoc(), "would take a collective that a loop in the body "
                              "has in flight from another iteration");
    return Outcome();
  }
  return Outcome(std::move(result));
}

int64_t ScheduledLoop::computeRunNs(const CyclicSchedule &of,
                                    int64_t count) const {
  return schedule::computeRunNs(problem.getProblem(), of.order, count,
                                contention.contention);
}

std::optional<int64_t> ScheduledLoop::findLeastCount() const {
  int64_t gainNs = program.periodNs - schedule.periodNs;
  auto computeLossNs = [&](int64_t count) {
    return computeRunNs(schedule, count) - computeRunNs(program, count);
  };
  if (int64_t lossNs = computeLossNs(maxSimulatedRepetitions); lossNs >= 0)
    return gainNs > 0
               ? std::optional(maxSimulatedRepetitions + lossNs / gainNs + 1)
               : std::nullopt;
  int64_t tooFew = schedule.order.depth() - 1, enough = maxSimulatedRepetitions;
  while (enough - tooFew > 1) {
    int64_t middle = tooFew + (enough - tooFew) / 2;
    (computeLossNs(middle) < 0 ? enough : tooFew) = middle;
  }
  return enough;
}

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

void mlir::commsched::addPeriodMetrics(remark::detail::InFlightRemark &record,
                                       const schedule::CyclicSchedule &before,
                                       const ScheduledLoop &scheduled) {
  const schedule::CyclicSchedule &after = scheduled.schedule;
  int64_t depth = after.order.depth();
  record << remark::metric("PeriodNsBefore", before.periodNs)
         << remark::metric("PeriodNsAfter", after.periodNs)
         << remark::metric("PeriodBoundNs", scheduled.bound.ns)
         << remark::metric("Depth", depth)
         << remark::metric("PeakBytesBefore", before.peakBytes)
         << remark::metric("PeakBytesAfter", after.peakBytes)
         << remark::metric("BudgetBytes", scheduled.limitBytes);
}
