//===- PeriodReport.cpp - Reports on steps that repeat --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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
using namespace mlir::commsched::schedule;

namespace {

/// Reports on one function that repeats.
class PeriodReporter {
public:
  PeriodReporter(const StepLoop &steps, const LoopProblem &problem,
                 const GroupContention &groups, OperationCosts &costs,
                 const SimulationOptions &options)
      : steps(steps), problem(problem), groups(groups), costs(costs),
        options(options), cyclic(problem.getProblem()),
        order(problem.getProgramOrder()) {}

  FailureOr<StepReport> report(std::optional<StepReport> known);

private:
  FailureOr<PeriodReport> reportPeriod(const PeriodBound &bound) const;
  LogicalResult reportSteadyState(StepReport &report) const;
  LogicalResult
  addOperations(StepReport &report, const ReportNames &names,
                const DenseMap<Operation *, NodeId> &places) const;
  LogicalResult addLimits(OperationReporter &reporter,
                          OperationReporter::Starts starts,
                          function_ref<std::string(Operation *)> getName) const;
  LogicalResult addMemory(StepReport &report, const BlockProblem &block,
                          const ReportNames &names) const;
  void addPeakValues(StepReport &report, const BlockProblem &block,
                     const ReportNames &names, int32_t position) const;
  Value getValueOfStep(Value value) const;

  /// The operation of the function; null for a port.
  Operation *getOperation(NodeId node) const {
    return steps.getOriginal(problem.getOperation(node));
  }

  const StepLoop &steps;
  const LoopProblem &problem;
  const GroupContention &groups;
  OperationCosts &costs;
  const SimulationOptions &options;
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
  ScanningSymbolTables symbolTables;
  FailureOr<GroupContention> groups =
      computeContention(*problem, costs.getTarget(), symbolTables);
  if (failed(groups))
    return failure();
  const Problem &known = problem->getProblem();
  Result<schedule::Timeline> timeline =
      simulate(known, known.programOrder(), groups->contention);
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
  OperationReporter::Starts starts;
  for (NodeId node : order.order) {
    Operation *op = getOperation(node);
    if (!op)
      continue;
    NodeId wait = body.waitOf(node);
    if (body.isCollective(node)) {
      starts.push_back({node, report.collectives.size()});
      addCollective(report, body, node, op,
                    wait == noNode ? nullptr : getOperation(wait),
                    getCollectiveName(cast<CollectiveOpInterface>(op),
                                      report.collectives.size()),
                    period.steady);
    } else if (body.kind(node) == NodeKind::Compute &&
               failed(reporter.addOperation(
                   op, names.getOperationName(places.at(op)),
                   period.steady.beginNs[node], period.steady.endNs[node],
                   /*iterations=*/1)))
      return failure();
  }
  if (failed(addLimits(reporter, std::move(starts), [&](Operation *op) {
        return names.getOperationName(places.at(op));
      })))
    return failure();
  reporter.countCalls();
  return success();
}

/// Fills in why collectives are exposed in the period: in one of several that
/// are run, so that moves may pass its boundaries.
LogicalResult PeriodReporter::addLimits(
    OperationReporter &reporter, OperationReporter::Starts starts,
    function_ref<std::string(Operation *)> getName) const {
  constexpr int32_t numAround = 2;
  const int32_t middle = order.depth() - 1 + numAround;
  const int32_t count = middle + 1 + numAround;
  const NodeId numNodes = cyclic.body().numNodes();
  for (auto &[node, place] : starts)
    node += (middle - order.stages[node]) * numNodes;
  schedule::ExposureOptions options;
  options.contention = groups.contention;
  return reporter.addLimits(
      unroll(cyclic, count), unroll(order, count), options, starts,
      [&](NodeId copy) { return getOperation(copy % numNodes); },
      [&](NodeId copy) {
        NodeId node = copy % numNodes;
        int32_t later = copy / numNodes + order.stages[node] - middle;
        std::string name;
        if (Operation *op = getOperation(node))
          name = getName(op);
        else
          name = problem.getOperation(node)->getNumOperands() == 0 ? "an input"
                                                                   : "a result";
        if (later == 0)
          return name;
        return name +
               (later < 0 ? " of a period before" : " of a later period");
      });
}

/// Fills in the live bytes of all repetitions that are in progress.
LogicalResult PeriodReporter::addMemory(StepReport &report,
                                        const BlockProblem &block,
                                        const ReportNames &names) const {
  FailureOr<std::vector<int64_t>> constants = steps.listConstantBytes();
  if (failed(constants))
    return failure();
  int64_t constantBytes = llvm::sum_of(*constants);
  std::vector<int64_t> bytes = simulatePeriodMemory(cyclic, order);
  int64_t nowNs = 0, place = 0;
  int32_t position = 0, peakAt = 0;
  for (auto [node, live] : llvm::zip_equal(order.order, bytes)) {
    int64_t total = live + constantBytes;
    if (report.memory.empty() || report.memory.back().bytes != total)
      report.memory.push_back({nowNs, total});
    if (cyclic.body().kind(node) != NodeKind::Start)
      nowNs = std::max(nowNs, period.steady.endNs[node]);
    ++position;
    if (!getOperation(node))
      continue;
    if (report.peakPosition < 0 || total > report.peakMemoryBytes) {
      report.peakMemoryBytes = total;
      report.peakPosition = place;
      peakAt = position - 1;
    }
    ++place;
  }
  if (report.peakPosition >= 0)
    addPeakValues(report, block, names, peakAt);
  if (!options.allocator)
    return success();
  Result<schedule::ReservedMemory> reserved = replayRun(
      cyclic, order, *constants, groups.contention, *options.allocator);
  if (!reserved)
    return emitError(func::FuncOp(steps.getStep()).getLoc(),
                     "cannot be simulated: ")
           << reserved.error();
  report.reserved = *reserved;
  return success();
}

/// The value of the step that is `value` in the loop, or null.
Value PeriodReporter::getValueOfStep(Value value) const {
  func::FuncOp step = steps.getStep();
  if (auto argument = dyn_cast_if_present<BlockArgument>(value))
    // The first argument counts the repetitions.
    return argument.getOwner() == steps.getLoop().getBody()
               ? step.getArgument(
                     steps.getCarriedArguments()[argument.getArgNumber() - 1])
               : Value();
  auto result = dyn_cast_if_present<OpResult>(value);
  if (!result)
    return Value();
  if (Operation *op = steps.getOriginal(result.getOwner()))
    return op->getResult(result.getResultNumber());
  auto port = result.getOwner()->getAttrOfType<IntegerAttr>(portAttrName);
  return port ? step.getArgument(port.getInt()) : Value();
}

/// Fills in the largest of what is live at a position of the period.
void PeriodReporter::addPeakValues(StepReport &report,
                                   const BlockProblem &block,
                                   const ReportNames &names,
                                   int32_t position) const {
  const Problem &known = block.getProblem();
  DenseMap<Value, schedule::BufferId> buffers;
  DenseMap<Operation *, NodeId> places;
  for (NodeId node = 0; node < known.numNodes(); ++node)
    places[block.getOperation(node)] = node;
  std::vector<LiveValue> live;
  for (schedule::BufferId id = 0; id < known.numBuffers(); ++id) {
    Value root = block.getBufferRoot(id);
    if (!root)
      continue;
    buffers[root] = id;
    // What is the same in all repetitions is not in the loop.
    auto argument = dyn_cast<BlockArgument>(root);
    if (argument && argument.getOwner()->getParentOp() == steps.getStep() &&
        steps.getKind(argument.getArgNumber()) == StepArgument::Constant)
      live.push_back({names.getBufferName(id), known.buffer(id).bytes,
                      std::nullopt, names.getBufferRule(id)});
  }
  for (schedule::BufferId id : findLiveInPeriod(cyclic, order, position)) {
    const schedule::Buffer &buffer = cyclic.body().buffer(id);
    LiveValue &value = live.emplace_back();
    value.bytes = buffer.bytes;
    Operation *producer =
        buffer.producer == noNode ? nullptr : getOperation(buffer.producer);
    if (producer)
      value.producer = places.at(producer);
    Value root = getValueOfStep(problem.getBufferRoot(id));
    auto found = buffers.find(root);
    if (producer && cyclic.body().isCollective(buffer.producer)) {
      // The wait may be one of another period.
      value.name = names.getOperationName(*value.producer);
      auto result = dyn_cast_if_present<OpResult>(root);
      if (result && result.getResultNumber() > 0)
        value.name += "#" + std::to_string(result.getResultNumber());
      value.rule = "collective";
    } else if (found != buffers.end()) {
      value.name = names.getBufferName(found->second);
      value.rule = names.getBufferRule(found->second);
    } else if (producer) {
      value.name = names.getOperationName(*value.producer) + " (inside)";
      value.rule = "inside";
    }
  }
  llvm::erase_if(live, [](const LiveValue &value) { return value.bytes == 0; });
  llvm::stable_sort(live, [](const LiveValue &a, const LiveValue &b) {
    return a.bytes > b.bytes;
  });
  live.resize(std::min(live.size(), StepReport::maxPeakValues));
  report.peakValues.assign(std::make_move_iterator(live.begin()),
                           std::make_move_iterator(live.end()));
}

/// Fills in everything but the period.
LogicalResult PeriodReporter::reportSteadyState(StepReport &report) const {
  func::FuncOp step = steps.getStep();
  FailureOr<BlockProblem> block = priceBlock(step.getBody().front(), costs);
  if (failed(block))
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
  report.slowdownNs = period.steady.slowdownNs;
  report.unknownGroups = groups.unknownGroups;
  addTimes(report);
  DenseMap<Operation *, NodeId> places;
  report.numOps = block->getProblem().numNodes();
  for (NodeId node = 0; node < report.numOps; ++node)
    places[block->getOperation(node)] = node;
  ReportNames names(*block);
  if (failed(addOperations(report, names, places)))
    return failure();
  if (failed(addMemory(report, *block, names)))
    return failure();
  if (report.peakPosition >= 0)
    report.peakOperation = names.getOperationName(report.peakPosition);
  return success();
}

FailureOr<StepReport> PeriodReporter::report(std::optional<StepReport> known) {
  Result<PeriodTimeline> timeline =
      simulatePeriod(cyclic, order, groups.contention);
  if (!timeline)
    return emitError(func::FuncOp(steps.getStep()).getLoc(),
                     "cannot be simulated: ")
           << timeline.error();
  FailureOr<PeriodBound> bound = computeLeastPeriodBound(problem, costs);
  if (failed(bound))
    return failure();
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
  FailureOr<GroupContention> groups =
      computeContention(**problem, costs.getTarget());
  if (failed(groups))
    return failure();
  FailureOr<StepReport> made =
      PeriodReporter(*steps, **problem, *groups, costs, options)
          .report(std::move(report));
  if (failed(made))
    return failure();
  return Outcome(std::move(*made));
}
