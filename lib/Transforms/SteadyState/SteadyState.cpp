//===- SteadyState.cpp - Pass that overlaps steps that repeat -------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Dialect/SteadyState.h"
#include "../PassSupport.h"
#include "CommSched/Analysis/Cyclic/StepLoop.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Dialect/StepAttributes.h"
#include "CyclicPass.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"
#include <map>

namespace mlir::commsched {
#define GEN_PASS_DEF_STEADYSTATE
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

//===----------------------------------------------------------------------===//
// Functions of a steady state
//===----------------------------------------------------------------------===//

namespace {

/// Operations of the function with the pipelined loop that become a function.
struct SteadyPart {
  SteadyStateRole role;
  SmallVector<Operation *> operations;
  /// The values that are the state before and after the operations.
  SmallVector<Value> oldState;
  SmallVector<Value> newState;
};

/// An argument or a result of the step, of one repetition.
struct StepPort {
  unsigned number = 0;
  /// None for an argument that is the same in all.
  std::optional<int64_t> repetition;
  /// The value of the loop's function.
  Value value;
};

/// Writes the function of one part.
class SteadyFunctionWriter {
public:
  SteadyFunctionWriter(const StepLoop &steps, const SteadyPart &part,
                       int64_t depth)
      : steps(steps), step(steps.getStep()), part(part), depth(depth),
        builder(step->getContext()) {}

  func::FuncOp write();

private:
  void findPorts();
  void findArgumentsOfAll();
  void addCarriedResults();
  DictionaryAttr makeAttributes(DictionaryAttr ofStep, const StepPort &port,
                                StringRef numberName);
  DictionaryAttr makeStateAttributes(size_t place);
  func::FuncOp createFunction();
  void cloneOperations(func::FuncOp function);

  const StepLoop &steps;
  func::FuncOp step;
  const SteadyPart &part;
  int64_t depth;
  OpBuilder builder;
  /// Behind the state.
  SmallVector<StepPort> arguments;
  SmallVector<StepPort> results;
};

} // namespace

static std::optional<unsigned> getPort(Operation *op) {
  auto port = op->getAttrOfType<IntegerAttr>(portAttrName);
  return port ? std::optional<unsigned>(port.getInt()) : std::nullopt;
}

/// Calls `visit` for each operand of `op` and of the operations in it.
static void forEachOperand(Operation *op, function_ref<void(Value)> visit) {
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      visit(operand);
  });
}

/// Finds what repetitions are given and give away. The ports of one number
/// stand in the order of the repetitions, as they are all of one stage.
void SteadyFunctionWriter::findPorts() {
  std::map<unsigned, int64_t> numInputs, numOutputs;
  for (Operation *op : part.operations) {
    std::optional<unsigned> number = getPort(op);
    if (!number)
      continue;
    if (op->getNumOperands() == 0)
      arguments.push_back({*number, numInputs[*number]++, op->getResult(0)});
    else
      results.push_back({*number, numOutputs[*number]++, op->getOperand(0)});
  }
}

/// Finds the arguments of the step that the part takes for all repetitions.
void SteadyFunctionWriter::findArgumentsOfAll() {
  llvm::SetVector<Value> used;
  auto addArgument = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (argument && argument.getOwner()->getParentOp() == steps.getRepeated())
      used.insert(argument);
  };
  for (Operation *op : part.operations)
    forEachOperand(op, addArgument);
  llvm::for_each(part.newState, addArgument);
  for (Value value : used)
    arguments.push_back(
        {cast<BlockArgument>(value).getArgNumber(), std::nullopt, value});
}

/// The epilogue also returns what the repetition after the last would take.
void SteadyFunctionWriter::addCarriedResults() {
  Operation *terminator = steps.getRepeated().getBody().front().getTerminator();
  for (auto [number, value] :
       llvm::zip_equal(steps.getCarriedResults(), terminator->getOperands()))
    results.push_back({number, depth - 2, value});
}

/// Returns the attributes of an argument or a result behind the state.
DictionaryAttr SteadyFunctionWriter::makeAttributes(DictionaryAttr ofStep,
                                                    const StepPort &port,
                                                    StringRef numberName) {
  NamedAttrList attributes(dropCarried(ofStep));
  attributes.set(numberName, builder.getI64IntegerAttr(port.number));
  if (port.repetition) {
    attributes.set(repetitionAttrName,
                   builder.getI64IntegerAttr(*port.repetition));
    // Names remain unique.
    if (*port.repetition > 0)
      attributes.erase(nameAttrName);
  }
  return attributes.getDictionary(step->getContext());
}

/// Returns the attributes of a state argument. Whoever calls the function hands
/// the state over, so that it may be freed.
DictionaryAttr SteadyFunctionWriter::makeStateAttributes(size_t place) {
  NamedAttrList attributes;
  ArrayRef<unsigned> carried = steps.getCarriedArguments();
  if (place < carried.size())
    attributes.append(
        dropCarried(step.getArgAttrDict(carried[place])).getValue());
  if (!isa<FutureType>(part.oldState[place].getType()))
    attributes.set(freeableAttrName, builder.getUnitAttr());
  return attributes.getDictionary(step->getContext());
}

func::FuncOp SteadyFunctionWriter::createFunction() {
  SmallVector<Type> argumentTypes, resultTypes;
  SmallVector<DictionaryAttr> argumentAttrs, resultAttrs;
  for (auto [place, value] : llvm::enumerate(part.oldState)) {
    argumentTypes.push_back(value.getType());
    argumentAttrs.push_back(makeStateAttributes(place));
  }
  for (const StepPort &port : arguments) {
    argumentTypes.push_back(port.value.getType());
    argumentAttrs.push_back(makeAttributes(step.getArgAttrDict(port.number),
                                           port, stepArgumentAttrName));
  }
  for (Value value : part.newState) {
    resultTypes.push_back(value.getType());
    resultAttrs.push_back(builder.getDictionaryAttr({}));
  }
  for (const StepPort &port : results) {
    resultTypes.push_back(port.value.getType());
    resultAttrs.push_back(makeAttributes(step.getResultAttrDict(port.number),
                                         port, stepResultAttrName));
  }
  auto function = func::FuncOp::create(
      builder, step.getLoc(),
      (step.getSymName() + "_" + stringifySteadyStateRole(part.role)).str(),
      builder.getFunctionType(argumentTypes, resultTypes));
  function.setVisibility(step.getVisibility());
  function.setAllArgAttrs(argumentAttrs);
  function.setAllResultAttrs(resultAttrs);
  setSteadyState(function, {FlatSymbolRefAttr::get(step.getSymNameAttr()),
                            part.role, depth});
  return function;
}

/// Copies the operations of the part, and the constants that they use.
void SteadyFunctionWriter::cloneOperations(func::FuncOp function) {
  Block *entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  IRMapping mapping;
  size_t numState = part.oldState.size();
  mapping.map(part.oldState, entry->getArguments().take_front(numState));
  for (auto [port, argument] :
       llvm::zip_equal(arguments, entry->getArguments().drop_front(numState)))
    mapping.map(port.value, argument);
  auto cloneConstant = [&](Value value) {
    Operation *definition = value.getDefiningOp();
    if (definition && definition->hasTrait<OpTrait::ConstantLike>() &&
        !mapping.contains(value))
      builder.clone(*definition, mapping);
  };
  for (Operation *op : part.operations) {
    if (getPort(op))
      continue;
    forEachOperand(op, cloneConstant);
    if (!op->hasTrait<OpTrait::ConstantLike>())
      builder.clone(*op, mapping);
  }
  SmallVector<Value> returned = part.newState;
  for (const StepPort &port : results)
    returned.push_back(port.value);
  llvm::for_each(returned, cloneConstant);
  for (Value &value : returned)
    value = mapping.lookup(value);
  func::ReturnOp::create(builder, step.getLoc(), returned);
  // What the pipeliner computes of the number of the repetition.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(*entry)))
    if (isa<arith::ArithDialect>(op.getDialect()) && isOpTriviallyDead(&op))
      op.erase();
}

func::FuncOp SteadyFunctionWriter::write() {
  findPorts();
  findArgumentsOfAll();
  if (part.role == SteadyStateRole::Epilogue)
    addCarriedResults();
  auto isBefore = [](const StepPort &a, const StepPort &b) {
    return std::make_pair(a.repetition.value_or(0), a.number) <
           std::make_pair(b.repetition.value_or(0), b.number);
  };
  llvm::sort(arguments, isBefore);
  llvm::sort(results, isBefore);
  func::FuncOp function = createFunction();
  cloneOperations(function);
  return function;
}

/// The operations of a block between two of its operations.
static SmallVector<Operation *> listOperations(Block::iterator begin,
                                               Block::iterator end) {
  return llvm::map_to_vector(llvm::make_range(begin, end),
                             [](Operation &op) { return &op; });
}

/// Adds the functions `@<step>_prologue`, `@<step>_steady` and
/// `@<step>_epilogue` behind the step. `kernel` is the loop of `steps` after
/// the pipeliner has put `depth` repetitions into it, at least 2, with all
/// input ports in the first stage and all output ports in the last. Linear in
/// the operations.
static void createSteadyFunctions(const StepLoop &steps, scf::ForOp kernel,
                                  int64_t depth) {
  Block &outer = steps.getRepeated().getBody().front();
  Block &body = *kernel.getBody();
  SteadyPart parts[] = {
      {SteadyStateRole::Prologue,
       listOperations(outer.begin(), kernel->getIterator()),
       {},
       kernel.getInitArgs()},
      {SteadyStateRole::Steady,
       listOperations(body.begin(), body.getTerminator()->getIterator()),
       llvm::to_vector_of<Value>(kernel.getRegionIterArgs()),
       kernel.getYieldedValues()},
      {SteadyStateRole::Epilogue,
       listOperations(std::next(kernel->getIterator()),
                      outer.getTerminator()->getIterator()),
       llvm::to_vector_of<Value>(kernel.getResults()),
       {}}};
  SymbolTable symbols(steps.getStep()->getParentOp());
  Operation *place = steps.getStep();
  for (const SteadyPart &part : parts) {
    func::FuncOp function = SteadyFunctionWriter(steps, part, depth).write();
    symbols.insert(function, std::next(place->getIterator()));
    place = function;
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct SteadyState
    : CyclicPass<mlir::commsched::impl::SteadyStateBase<SteadyState>> {
  using CyclicPass::CyclicPass;

  void runOnOperation() override;

private:
  void declineAll();
  LogicalResult overlap(func::FuncOp step);
  FailureOr<bool> overlapLoop(const StepLoop &steps, OperationCosts &costs,
                              StepLoop::DeclineFunction decline);
};

} // namespace

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

/// scheduleLoop() with the ports moved. A schedule that takes too much once
/// they are is made again for a limit that is lower by the excess, then by
/// twice the excess, and so on.
static FailureOr<std::optional<ScheduledLoop>>
scheduleWithPorts(const StepLoop &steps, int64_t constantBytes,
                  OperationCosts &costs, LoopSchedulingOptions options,
                  StepLoop::DeclineFunction decline) {
  using Outcome = std::optional<ScheduledLoop>;
  Outcome best;
  int64_t limitBytes = 0;
  constexpr int32_t maxTrials = 4;
  for (int32_t trial = 0; trial < maxTrials; ++trial) {
    FailureOr<Outcome> found =
        scheduleLoop(steps.getLoop(), constantBytes, costs, options, decline);
    if (failed(found) || !*found)
      return found;
    Result<CyclicSchedule> moved =
        measureCyclic((*found)->problem.getProblem(),
                      movePorts((*found)->problem, (*found)->schedule.order));
    if (!moved) {
      // An operation of the next repetition may write it in place before that.
      decline(steps.getStep().getLoc(),
              "what a repetition returns would not last until the call that "
              "returns it: " +
                  moved.error());
      return Outcome();
    }
    if (trial == 0)
      limitBytes = (*found)->limitBytes;
    int64_t excessBytes = moved->peakBytes - limitBytes;
    if (!best || moved->peakBytes < best->schedule.peakBytes) {
      best = std::move(*found);
      best->schedule = std::move(*moved);
      best->limitBytes = limitBytes;
    }
    int64_t lowerBytes = limitBytes + constantBytes - (excessBytes << trial);
    if (excessBytes <= 0 || lowerBytes <= 0)
      break;
    options.budget.bytes = lowerBytes;
  }
  return best;
}

/// Puts the operations of the step into the order of the period.
static void reorder(const StepLoop &steps, const ScheduledLoop &scheduled) {
  Operation *terminator = steps.getStep().getBody().front().getTerminator();
  for (NodeId node : scheduled.schedule.order.order)
    if (Operation *op = steps.getOriginal(scheduled.problem.getOperation(node)))
      op->moveBefore(terminator);
}

/// Emits the remark `StepRepeated` about the schedule that was taken. `bound`
/// is what bounds the period.
static void remarkRepeated(func::FuncOp step, const ScheduledLoop &scheduled,
                           const std::string &bound) {
  const CyclicSchedule &before = scheduled.program;
  const CyclicSchedule &after = scheduled.schedule;
  int64_t depth = after.order.depth();
  remark::passed(step.getLoc(), makeRemark("StepRepeated", step.getSymName()))
      << ("a repetition takes " + Twine(after.periodNs) + " ns instead of " +
          Twine(before.periodNs) + ", of at least " +
          Twine(scheduled.bound.ns) + " (" + bound + "), with " + Twine(depth) +
          (depth == 1 ? " repetition" : " repetitions") + " in progress, and " +
          Twine(after.peakBytes) + " bytes instead of " +
          Twine(before.peakBytes) + ", for a budget of " +
          Twine(scheduled.limitBytes))
             .str()
      << remark::metric("PeriodNsBefore", before.periodNs)
      << remark::metric("PeriodNsAfter", after.periodNs)
      << remark::metric("PeriodBoundNs", scheduled.bound.ns)
      << remark::metric("Depth", depth)
      << remark::metric("PeakBytesBefore", before.peakBytes)
      << remark::metric("PeakBytesAfter", after.peakBytes)
      << remark::metric("BudgetBytes", scheduled.limitBytes);
}

/// Why the schedule is not taken, or nothing.
static std::optional<std::string>
explainNoGain(const ScheduledLoop &scheduled) {
  const CyclicSchedule &after = scheduled.schedule;
  if (after.peakBytes > scheduled.limitBytes)
    return ("no order fits: the one that needs least takes " +
            Twine(after.peakBytes) + " bytes, of " +
            Twine(scheduled.limitBytes))
        .str();
  if (after.periodNs < scheduled.program.periodNs)
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
  FailureOr<int64_t> constantBytes = steps.computeConstantBytes();
  if (failed(constantBytes))
    return failure();
  LoopSchedulingOptions with = options;
  // The percentages of several passes do not add up.
  if (std::optional<int64_t> bytes = getBaselinePeakBytes(step);
      bytes && !with.budget.bytes)
    with.budget.bytes = with.budget.getLimitBytes(*bytes);
  FailureOr<std::optional<ScheduledLoop>> found =
      scheduleWithPorts(steps, *constantBytes, costs, with, decline);
  if (failed(found))
    return failure();
  if (!*found)
    return false;
  ScheduledLoop &scheduled = **found;
  remarkAssumptions(step.getSymName(), scheduled.problem.getAssumptions());
  if (std::optional<std::string> obstacle = explainNoGain(scheduled)) {
    decline(step.getLoc(), *obstacle);
    return false;
  }
  // The operations of the loop do not outlive it.
  std::string bound = describeBound(scheduled.problem, scheduled.bound);
  int32_t depth = scheduled.schedule.order.depth();
  if (depth == 1) {
    reorder(steps, scheduled);
  } else {
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

LogicalResult SteadyState::overlap(func::FuncOp step) {
  auto decline = [&](Location location, StringRef reason) {
    remark::missed(location, makeRemark("StepKept", step.getSymName()))
        << ("the step keeps its repetitions apart: " + reason).str();
  };
  auto symbol = FlatSymbolRefAttr::get(step.getSymNameAttr());
  if (findSteadyStateFunction(step, symbol, SteadyStateRole::Prologue)) {
    decline(step.getLoc(), "it has a steady state already");
    return success();
  }
  OperationCosts *costs = getChildAnalysis<CostAnalysis>(step).getCosts();
  if (!costs)
    return failure();
  std::unique_ptr<StepLoop> steps = StepLoop::create(step, decline);
  return steps ? LogicalResult(overlapLoop(*steps, *costs, decline))
               : success();
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
  if (failed(emitOptionError(getOperation(), optionError)))
    return signalPassFailure();
  SmallVector<func::FuncOp> steps;
  for (auto function : getOperation().getOps<func::FuncOp>())
    if (!function.isExternal() && StepLoop::repeats(function))
      steps.push_back(function);
  if (steps.empty())
    return declineAll();
  for (func::FuncOp step : steps)
    if (failed(overlap(step)))
      return signalPassFailure();
}
