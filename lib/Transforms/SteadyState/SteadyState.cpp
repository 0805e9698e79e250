//===- SteadyState.cpp - Pass that overlaps steps that repeat -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Dialect/SteadyState.h"
#include "../PassSupport.h"
#include "CommSched/Analysis/Costs/Callees.h"
#include "CommSched/Analysis/Cyclic/StepLoop.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CyclicPass.h"
#include "SteadyFunctions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_STEADYSTATE
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

/// A step with its schedule.
struct ScheduledStep : ScheduledLoop {
  /// What the schedule takes of the limit: its peak, or what the allocator
  /// reserves.
  int64_t takenBytes = 0;
};

struct SteadyState
    : CyclicPass<mlir::commsched::impl::SteadyStateBase<SteadyState>> {
  using CyclicPass::CyclicPass;

  void runOnOperation() override;

protected:
  std::optional<std::string> readOwnOptions() override;

private:
  FailureOr<std::optional<ScheduledStep>>
  scheduleWithPorts(const StepLoop &steps, OperationCosts &costs,
                    LoopSchedulingOptions with,
                    StepLoop::DeclineFunction decline);
  void declineAll();
  LogicalResult overlap(func::FuncOp step, OperationCosts &costs);
  FailureOr<bool> overlapLoop(const StepLoop &steps, OperationCosts &costs,
                              StepLoop::DeclineFunction decline);

  /// What a budget limits; none for live bytes.
  std::optional<SegmentKind> budgetAllocator;
};

} // namespace

std::optional<std::string> SteadyState::readOwnOptions() {
  if (budgetOn == BudgetOn::Reserved && !options.budget.bytes)
    return makeOptionError(*this, budgetOn,
                           "is 'reserved', which needs a memory budget in "
                           "bytes, but option 'memory-budget' is '" +
                               memoryBudget.getValue() + "'");
  return readAllocator(*this, budgetOn, allocator, budgetAllocator);
}

/// Moves what a repetition is given to the beginning of the first stage and
/// what it gives away to the end of the last one: a call of the steady state
/// takes the inputs of one repetition and returns the results of one.
static CyclicOrder movePorts(const LoopProblem &problem,
                             const CyclicOrder &schedule) {
  CyclicOrder moved;
  moved.stages = schedule.stages;
  Order inputs, others, outputs;
  for (NodeId node : schedule.order) {
    Operation *op = problem.getOperation(node);
    if (!op->hasAttr(portAttrName)) {
      others.push_back(node);
      continue;
    }
    bool isInput = op->getNumOperands() == 0;
    (isInput ? inputs : outputs).push_back(node);
    moved.stages[node] = isInput ? 0 : schedule.depth() - 1;
  }
  for (const Order *order : {&inputs, &others, &outputs})
    moved.order.insert(moved.order.end(), order->begin(), order->end());
  return moved;
}

/// The peak of the step with its operations in the order of a period of
/// depth 1. In it inputs stay to the end, in a loop to their last use. Emits an
/// error as BlockProblem::create() does.
static FailureOr<int64_t> measureReordered(const StepLoop &steps,
                                           const LoopProblem &problem,
                                           const CyclicOrder &period) {
  Block &body = steps.getStep().getBody().front();
  FailureOr<BlockProblem> block = BlockProblem::create(body, StreamOrder::Free);
  if (failed(block))
    return failure();
  llvm::SetVector<Operation *> moved;
  for (NodeId node : period.order)
    if (Operation *op = steps.getOriginal(problem.getOperation(node)))
      moved.insert(op);
  DenseMap<Operation *, NodeId> nodes;
  Order order;
  for (NodeId node = 0; node < block->getProblem().numNodes(); ++node) {
    nodes[block->getOperation(node)] = node;
    if (!moved.contains(block->getOperation(node)))
      order.push_back(node);
  }
  for (Operation *op : moved)
    order.push_back(nodes.lookup(op));
  Result<MemoryTimeline> memory = simulateMemory(block->getProblem(), order);
  if (!memory)
    return emitError(steps.getStep().getLoc(), "cannot be simulated: ")
           << memory.error();
  return memory->peakBytes;
}

/// scheduleLoop() with the ports moved. A schedule that takes too much once
/// they are is made again for a limit that is lower by the excess, then by
/// twice the excess, and so on.
FailureOr<std::optional<ScheduledStep>>
SteadyState::scheduleWithPorts(const StepLoop &steps, OperationCosts &costs,
                               LoopSchedulingOptions with,
                               StepLoop::DeclineFunction decline) {
  using Outcome = std::optional<ScheduledStep>;
  FailureOr<std::vector<int64_t>> constants = steps.listConstantBytes();
  if (failed(constants))
    return failure();
  int64_t constantBytes = llvm::sum_of(*constants);
  Location loc = func::FuncOp(steps.getStep()).getLoc();
  Outcome best;
  int64_t limitBytes = 0;
  constexpr int32_t maxTrials = 4;
  for (int32_t trial = 0; trial < maxTrials; ++trial) {
    FailureOr<std::optional<ScheduledLoop>> found =
        scheduleLoop(steps.getLoop(), constantBytes, costs, with, decline);
    if (failed(found))
      return failure();
    if (!*found)
      return Outcome();
    const CyclicProblem &problem = (*found)->problem.getProblem();
    const Contention &contention = (*found)->contention.contention;
    Result<CyclicSchedule> moved = measureCyclic(
        problem, movePorts((*found)->problem, (*found)->schedule.order),
        contention);
    if (!moved) {
      // An operation of the next repetition may write it in place before that.
      decline(loc, "what a repetition returns would not last until the call "
                   "that returns it: " +
                       moved.error());
      return Outcome();
    }
    if (trial == 0)
      limitBytes = (*found)->limitBytes;
    int64_t takenBytes = moved->peakBytes;
    if (budgetAllocator) {
      Result<ReservedMemory> reserved = replayRun(
          problem, moved->order, *constants, contention, *budgetAllocator);
      if (!reserved)
        return emitError(loc, "cannot be scheduled: ") << reserved.error();
      takenBytes = reserved->reservedBytes - constantBytes;
    } else if (moved->order.depth() == 1) {
      FailureOr<int64_t> bytes =
          measureReordered(steps, (*found)->problem, moved->order);
      if (failed(bytes))
        return failure();
      takenBytes = std::max(takenBytes, *bytes - constantBytes);
    }
    int64_t excessBytes = takenBytes - limitBytes;
    if (!best || takenBytes < best->takenBytes) {
      best = ScheduledStep{std::move(**found), takenBytes};
      best->schedule = std::move(*moved);
      best->limitBytes = limitBytes;
    }
    int64_t lowerBytes = limitBytes + constantBytes - (excessBytes << trial);
    if (excessBytes <= 0 || lowerBytes <= 0)
      break;
    with.budget.bytes = lowerBytes;
  }
  return best;
}

/// Puts the operations of the step into the order of the period, with the
/// implementations that were chosen.
static void reorder(const StepLoop &steps, const ScheduledLoop &scheduled) {
  for (auto [op, name] : scheduled.chosen)
    steps.getOriginal(op)->setDiscardableAttr(implementationAttrName, name);
  Operation *terminator = steps.getStep().getBody().front().getTerminator();
  for (NodeId node : scheduled.schedule.order.order)
    if (Operation *op = steps.getOriginal(scheduled.problem.getOperation(node)))
      op->moveBefore(terminator);
}

/// Emits the remark `StepRepeated` about the schedule that was taken. `bound`
/// is what bounds the period.
static void remarkRepeated(func::FuncOp step, const ScheduledStep &scheduled,
                           const std::string &bound) {
  const CyclicSchedule &before = scheduled.program;
  const CyclicSchedule &after = scheduled.schedule;
  int64_t depth = after.order.depth();
  auto record = remark::passed(step.getLoc(),
                               makeRemark("StepRepeated", step.getSymName()));
  record << ("a repetition takes " + Twine(after.periodNs) + " ns instead of " +
             Twine(before.periodNs) + ", of at least " +
             Twine(scheduled.bound.ns) + " (" + bound + "), with " +
             Twine(depth) + (depth == 1 ? " repetition" : " repetitions") +
             " in progress, and " + Twine(after.peakBytes) +
             " bytes instead of " + Twine(before.peakBytes) +
             ", for a budget of " + Twine(scheduled.limitBytes) +
             (scheduled.takenBytes == after.peakBytes
                  ? ""
                  : ", and " + Twine(scheduled.takenBytes) + " reserved") +
             (scheduled.chosen.empty()
                  ? ""
                  : "; collectives with another implementation: " +
                        Twine(scheduled.chosen.size())))
                .str();
  addPeriodMetrics(record, before, scheduled);
}

/// Why the schedule is not taken, or nothing. What an allocator reserves for
/// the program as it is, is not known.
static std::optional<std::string> explainNoGain(const ScheduledStep &scheduled,
                                                bool isReserved) {
  const CyclicSchedule &after = scheduled.schedule;
  bool fits = scheduled.takenBytes <= scheduled.limitBytes;
  if (!fits &&
      (isReserved || scheduled.program.peakBytes > scheduled.limitBytes))
    return ("no order fits: the one that needs least takes " +
            Twine(scheduled.takenBytes) + " bytes, of " +
            Twine(scheduled.limitBytes))
        .str();
  if (fits && after.periodNs < scheduled.program.periodNs)
    return std::nullopt;
  return ("a repetition takes " + Twine(scheduled.program.periodNs) +
          " ns, of at least " + Twine(scheduled.bound.ns) + " (" +
          describeBound(scheduled.problem, scheduled.bound) +
          "), and nothing that fits " + Twine(scheduled.limitBytes) +
          " bytes is shorter")
      .str();
}

/// Schedules and pipelines the loop. Returns whether the module has changed.
FailureOr<bool> SteadyState::overlapLoop(const StepLoop &steps,
                                         OperationCosts &costs,
                                         StepLoop::DeclineFunction decline) {
  func::FuncOp step = steps.getStep();
  LoopSchedulingOptions with = options;
  with.choosesImplementations = chooseImplementations;
  // The percentages of several passes do not add up.
  if (std::optional<int64_t> bytes = getBaselinePeakBytes(step);
      bytes && !with.budget.bytes)
    with.budget.bytes = with.budget.getLimitBytes(*bytes);
  FailureOr<std::optional<ScheduledStep>> found =
      scheduleWithPorts(steps, costs, with, decline);
  if (failed(found))
    return failure();
  if (!*found)
    return false;
  ScheduledStep &scheduled = **found;
  remarkUnknownGroups(step.getLoc(), step.getSymName(),
                      scheduled.contention.unknownGroups);
  remarkAssumptions(step.getSymName(), scheduled.problem.getAssumptions());
  if (std::optional<std::string> obstacle =
          explainNoGain(scheduled, budgetAllocator.has_value())) {
    decline(step.getLoc(), *obstacle);
    return false;
  }
  // The operations of the loop do not outlive it.
  std::string bound = describeBound(scheduled.problem, scheduled.bound);
  int32_t depth = scheduled.schedule.order.depth();
  if (depth == 1) {
    reorder(steps, scheduled);
  } else {
    setChosen(scheduled, /*isSet=*/true);
    FailureOr<scf::ForOp> kernel = applySchedule(steps.getLoop(), scheduled);
    if (failed(kernel)) {
      decline(step.getLoc(), "its form is not supported by the pipeliner");
      return false;
    }
    createSteadyFunctions(steps, *kernel, depth);
  }
  remarkRepeated(step, scheduled, bound);
  return true;
}

LogicalResult SteadyState::overlap(func::FuncOp step, OperationCosts &costs) {
  auto decline = [&](Location location, StringRef reason) {
    remark::missed(location, makeRemark("StepKept", step.getSymName()))
        << ("the step keeps its repetitions apart: " + reason).str();
  };
  auto symbol = FlatSymbolRefAttr::get(step.getSymNameAttr());
  if (findSteadyStateFunction(step, symbol, SteadyStateRole::Prologue)) {
    decline(step.getLoc(), "it has a steady state already");
    return success();
  }
  std::unique_ptr<StepLoop> steps = StepLoop::create(step, decline);
  return steps ? LogicalResult(overlapLoop(*steps, costs, decline)) : success();
}

/// Says that no function of the module repeats.
void SteadyState::declineAll() {
  Location location = getOperation().getLoc();
  std::string reason = ("no argument of a function has '" + carriedAttrName +
                        "', the result that the next repetition takes")
                           .str();
  if (required) {
    emitError(location, "nothing repeats: ") << reason;
    return signalPassFailure();
  }
  remark::missed(location, makeRemark("StepKept", "")) << reason;
  markAllAnalysesPreserved();
}

void SteadyState::runOnOperation() {
  SmallVector<func::FuncOp> steps;
  for (auto function : getOperation().getOps<func::FuncOp>())
    if (!function.isExternal() && StepLoop::repeats(function))
      steps.push_back(function);
  if (steps.empty())
    return declineAll();
  OperationCosts *costs = getAnalysis<CostAnalysis>().getCosts();
  if (!costs)
    return signalPassFailure();
  Callees callees(getOperation(), *costs);
  for (func::FuncOp step : steps)
    if (failed(overlap(step, *costs)))
      return signalPassFailure();
}
