//===- PeriodReport.cpp - Reports on steps that repeat --------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Bounds/LeastProblem.h"
#include "CommSched/Analysis/Costs/OperationCosts.h"
#include "CommSched/Analysis/Cyclic/StepLoop.h"
#include "CommSched/Analysis/OperationTexts.h"
#include "CommSched/Dialect/SteadyState.h"
#include "CommSched/Report/StepReport.h"
#include "ReportParts.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::CyclicOrder;
using schedule::CyclicProblem;
using schedule::NodeId;
using schedule::NodeKind;
using schedule::noNode;
using schedule::PeriodBound;
using schedule::PeriodTimeline;
using schedule::Problem;

namespace {

/// Reports on one function that repeats.
class PeriodReporter {
public:
  PeriodReporter(const StepLoop &steps, const LoopProblem &problem,
                 OperationCosts &costs)
      : steps(steps), problem(problem), costs(costs),
        cyclic(problem.getProblem()), order(problem.getProgramOrder()) {}

  FailureOr<StepReport> report(std::optional<StepReport> known);

private:
  FailureOr<PeriodReport> reportPeriod(const PeriodBound &bound) const;
  LogicalResult reportSteadyState(StepReport &report) const;
  LogicalResult
  addOperations(StepReport &report, const ReportNames &names,
                const DenseMap<Operation *, NodeId> &places) const;
  void addMemory(StepReport &report, int64_t constantBytes) const;

  /// The operation of the function; null for a port.
  Operation *getOperation(NodeId node) const {
    return steps.getOriginal(problem.getOperation(node));
  }

  const StepLoop &steps;
  const LoopProblem &problem;
  OperationCosts &costs;
  const CyclicProblem &cyclic;
  const CyclicOrder &order;
  PeriodTimeline period;
};

} // namespace

/// Appends the operations of `function` to a block, with `operands` as its
/// arguments, and returns its results.
static SmallVector<Value> inlineFunction(OpBuilder &builder,
                                         func::FuncOp function,
                                         ArrayRef<Value> operands) {
  IRMapping mapping;
  mapping.map(function.getArguments(), operands);
  Block &body = function.getBody().front();
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  return llvm::map_to_vector(
      body.getTerminator()->getOperands(),
      [&](Value value) { return mapping.lookupOrDefault(value); });
}

/// Returns the time of a run of `numPeriods` periods between the prologue and
/// the epilogue of the steady state, or nothing if it has none.
static FailureOr<std::optional<int64_t>>
simulateWholeRun(func::FuncOp steady, int64_t numPeriods,
                 OperationCosts &costs) {
  FlatSymbolRefAttr step = getSteadyState(steady)->step;
  auto find = [&](SteadyStateRole role) {
    auto found = dyn_cast_if_present<func::FuncOp>(
        findSteadyStateFunction(steady, step, role).getOperation());
    return found && found.getBody().hasOneBlock() ? found : func::FuncOp();
  };
  func::FuncOp prologue = find(SteadyStateRole::Prologue);
  func::FuncOp epilogue = find(SteadyStateRole::Epilogue);
  if (!prologue || !epilogue)
    return std::optional<int64_t>();
  // Groups are looked up in the module.
  OpBuilder builder(steady);
  auto run = func::FuncOp::create(builder, steady.getLoc(), "run",
                                  builder.getFunctionType({}, {}));
  llvm::scope_exit erase([&] { run.erase(); });
  Block *block = run.addEntryBlock();
  builder.setInsertionPointToStart(block);
  SmallVector<Value> state;
  auto append = [&](func::FuncOp function) {
    SmallVector<Value> operands;
    llvm::append_range(operands, state);
    for (BlockArgument argument :
         function.getArguments().drop_front(operands.size()))
      operands.push_back(
          block->addArgument(argument.getType(), argument.getLoc()));
    state = inlineFunction(builder, function, operands);
    // Behind the state are results of the step.
    state.truncate(std::min<size_t>(state.size(), prologue.getNumResults()));
  };
  append(prologue);
  for (int64_t count = 0; count < numPeriods; ++count)
    append(steady);
  append(epilogue);
  FailureOr<BlockProblem> problem = priceBlock(*block, costs);
  if (failed(problem))
    return failure();
  const Problem &known = problem->getProblem();
  Result<schedule::Timeline> timeline = simulate(known, known.programOrder());
  if (!timeline)
    return emitError(steady.getLoc(), "cannot be simulated: ")
           << timeline.error();
  return std::optional(timeline->stepNs);
}

FailureOr<PeriodReport>
PeriodReporter::reportPeriod(const PeriodBound &bound) const {
  PeriodReport result;
  result.periodNs = period.periodNs;
  result.boundNs = bound.ns;
  result.limitedBy = makePrintable(describeBound(problem, bound));
  func::FuncOp step = steps.getStep();
  if (!StepLoop::isSteadyState(step))
    return result;
  result.depth = getSteadyState(step)->depth;
  // The periods in between are those of the steady state then.
  constexpr int64_t numPeriods = 3;
  FailureOr<std::optional<int64_t>> runNs =
      simulateWholeRun(step, numPeriods, costs);
  if (failed(runNs))
    return failure();
  if (*runNs)
    result.rampNs = **runNs - (numPeriods + result.depth - 1) * result.periodNs;
  return result;
}

LogicalResult PeriodReporter::addOperations(
    StepReport &report, const ReportNames &names,
    const DenseMap<Operation *, NodeId> &places) const {
  const Problem &body = cyclic.body();
  func::FuncOp step = steps.getStep();
  OperationReporter reporter(report, step, costs);
  for (NodeId node : order.order) {
    Operation *op = getOperation(node);
    if (!op)
      continue;
    NodeId wait = body.waitOf(node);
    if (body.isCollective(node))
      addCollective(report, body, node, op,
                    wait == noNode ? nullptr : getOperation(wait),
                    getCollectiveName(cast<CollectiveOpInterface>(op),
                                      report.collectives.size()),
                    period.steady);
    else if (body.kind(node) == NodeKind::Compute &&
             failed(reporter.addOperation(
                 op, names.getOperationName(places.at(op)),
                 period.steady.beginNs[node], period.steady.endNs[node],
                 /*iterations=*/1)))
      return failure();
  }
  reporter.countCalls();
  return success();
}

/// Fills in the live bytes of all repetitions that are in progress.
void PeriodReporter::addMemory(StepReport &report,
                               int64_t constantBytes) const {
  std::vector<int64_t> bytes = simulatePeriodMemory(cyclic, order);
  int64_t nowNs = 0, place = 0;
  for (auto [node, live] : llvm::zip_equal(order.order, bytes)) {
    int64_t total = live + constantBytes;
    if (report.memory.empty() || report.memory.back().bytes != total)
      report.memory.push_back({nowNs, total});
    if (cyclic.body().kind(node) != NodeKind::Start)
      nowNs = std::max(nowNs, period.steady.endNs[node]);
    if (!getOperation(node))
      continue;
    if (report.peakPosition < 0 || total > report.peakMemoryBytes) {
      report.peakMemoryBytes = total;
      report.peakPosition = place;
    }
    ++place;
  }
}

/// Fills in everything but the period.
LogicalResult PeriodReporter::reportSteadyState(StepReport &report) const {
  func::FuncOp step = steps.getStep();
  FailureOr<int64_t> constantBytes = steps.computeConstantBytes();
  FailureOr<BlockProblem> block = priceBlock(step.getBody().front(), costs);
  if (failed(constantBytes) || failed(block))
    return failure();
  FailureOr<int64_t> mergingBoundNs =
      computeMergingPeriodBoundNs(*block, costs);
  if (failed(mergingBoundNs))
    return failure();
  report.mergingLowerBoundNs =
      std::min(*mergingBoundNs, report.tightLowerBoundNs);
  report.evidence = CostEvidence(costs, *block);
  report.function = makePrintable(step.getName());
  report.stepTimeNs = period.periodNs;
  addTimes(report);
  DenseMap<Operation *, NodeId> places;
  report.numOps = block->getProblem().numNodes();
  for (NodeId node = 0; node < report.numOps; ++node)
    places[block->getOperation(node)] = node;
  ReportNames names(*block);
  if (failed(addOperations(report, names, places)))
    return failure();
  addMemory(report, *constantBytes);
  if (report.peakPosition >= 0)
    report.peakOperation = names.getOperationName(report.peakPosition);
  return success();
}

FailureOr<StepReport> PeriodReporter::report(std::optional<StepReport> known) {
  Result<PeriodTimeline> timeline = simulatePeriod(cyclic, order);
  Result<PeriodBound> bound = computePeriodBound(cyclic);
  if (!timeline || !bound)
    return emitError(func::FuncOp(steps.getStep()).getLoc(),
                     "cannot be simulated: ")
           << (!timeline ? timeline.error() : bound.error());
  period = std::move(*timeline);
  StepReport report = known ? std::move(*known) : StepReport();
  FailureOr<PeriodReport> made = reportPeriod(*bound);
  if (failed(made))
    return failure();
  report.period = std::move(*made);
  if (!known) {
    report.lowerBoundNs = report.tightLowerBoundNs = bound->ns;
    if (failed(reportSteadyState(report)))
      return failure();
  }
  return report;
}

FailureOr<std::optional<StepReport>> mlir::commsched::simulateRepetitions(
    func::FuncOp step, std::optional<StepReport> report, OperationCosts &costs,
    std::string &reason, const SimulationOptions &options) {
  using Outcome = std::optional<StepReport>;
  if (costs.getTarget().hasContention()) {
    reason = "contention between repetitions is not modelled";
    return Outcome();
  }
  auto decline = [&](Location, StringRef text) { reason = text.str(); };
  std::unique_ptr<StepLoop> steps = StepLoop::create(step, decline);
  if (!steps)
    return Outcome();
  FailureOr<std::optional<LoopProblem>> problem =
      LoopProblem::create(steps->getLoop(), costs, decline);
  if (failed(problem))
    return failure();
  if (!*problem)
    return Outcome();
  FailureOr<StepReport> made =
      PeriodReporter(*steps, **problem, costs).report(std::move(report));
  if (failed(made))
    return failure();
  return Outcome(std::move(*made));
}
