//===- StepPlan.cpp - Calls of a step that repeats ------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepPlan.h"

#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/StepAttributes.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::run;

//===----------------------------------------------------------------------===//
// Calls and outputs
//===----------------------------------------------------------------------===//

int64_t StepPlan::getNumCalls() const {
  int64_t repetitions = getNumRepetitions();
  if (depth > 1)
    return repetitions - (depth - 1) + 2;
  return repetitions * static_cast<int64_t>(functions.size());
}

PlannedCall StepPlan::getCall(int64_t index) const {
  if (depth == 1) {
    auto size = static_cast<int64_t>(functions.size());
    return {static_cast<unsigned>(index % size), index / size, index / size};
  }
  // Prologue, steady state, epilogue.
  if (index == 0)
    return {0, 0, 0};
  int64_t repetition = index - 1;
  bool isLast = index + 1 == getNumCalls();
  return {isLast ? 2u : 1u, repetition + depth - 1, repetition};
}

size_t StepPlan::getMaxCallsBack() const {
  return depth > 1 ? 1 : std::max<size_t>(2 * functions.size() - 1, 1);
}

int64_t StepPlan::countCalls(unsigned function) const {
  if (depth == 1)
    return getNumRepetitions();
  return function == 1 ? getNumCalls() - 2 : 1;
}

int64_t StepPlan::getNumOutputs() const {
  return getNumRepetitions() * numKeptByRepetition +
         llvm::count(isCarried, true);
}

std::optional<int64_t> StepPlan::findOutput(unsigned result,
                                            int64_t repetition) const {
  if (!isCarried[result])
    return repetition * numKeptByRepetition + numbers[result];
  if (repetition + 1 != getNumRepetitions())
    return std::nullopt;
  return getNumRepetitions() * numKeptByRepetition + numbers[result];
}

ReturnedResult StepPlan::getOutput(int64_t output) const {
  int64_t ofRepetitions = getNumRepetitions() * numKeptByRepetition;
  bool carried = output >= ofRepetitions;
  int64_t number =
      carried ? output - ofRepetitions : output % numKeptByRepetition;
  int64_t repetition =
      carried ? getNumRepetitions() - 1 : output / numKeptByRepetition;
  for (unsigned result = 0; result < isCarried.size(); ++result)
    if (isCarried[result] == carried && numbers[result] == number)
      return {result, repetition};
  llvm_unreachable("no such output");
}

//===----------------------------------------------------------------------===//
// The functions of the step
//===----------------------------------------------------------------------===//

static std::string quote(func::FuncOp function) {
  return "@" + function.getName().str();
}

/// An error of something in a file, whose name comes before it.
static llvm::Error createInnerError(const Twine &text) {
  return llvm::createStringError(": " + text);
}

/// The same, for an error that has no colon yet.
static llvm::Error prefixError(const Twine &prefix, llvm::Error error) {
  return llvm::createStringError(prefix + llvm::toString(std::move(error)));
}

/// The functions that links join, set by set, in the order of the module.
static SmallVector<SmallVector<func::FuncOp>> findLinkedSteps(ModuleOp module) {
  llvm::StringMap<func::FuncOp> byName;
  for (auto function : module.getOps<func::FuncOp>())
    byName[function.getName()] = function;
  llvm::EquivalenceClasses<Operation *> classes;
  for (auto function : module.getOps<func::FuncOp>())
    for (unsigned index = 0; index < function.getNumArguments(); ++index)
      if (std::optional<StepSource> source = getStepSource(function, index))
        classes.unionSets(function, byName.lookup(source->function));
  SmallVector<SmallVector<func::FuncOp>> steps;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!classes.contains(function) || getSteadyState(function))
      continue;
    auto *step = llvm::find_if(steps, [&](ArrayRef<func::FuncOp> other) {
      return classes.isEquivalent(other.front(), function);
    });
    if (step == steps.end())
      steps.emplace_back().push_back(function);
    else
      step->push_back(function);
  }
  return steps;
}

/// The functions of the step that `entry` belongs to, or of the only one.
static llvm::Expected<SmallVector<func::FuncOp>> findStep(ModuleOp module,
                                                          StringRef entry) {
  SmallVector<SmallVector<func::FuncOp>> steps = findLinkedSteps(module);
  if (entry.empty() && steps.size() > 1) {
    std::string names;
    for (ArrayRef<func::FuncOp> step : steps)
      names += (names.empty() ? "" : ", ") + quote(step.front());
    return llvm::createStringError(
        " has several steps that could be repeated, with the functions " +
        names + "; choose one with --entry");
  }
  if (entry.empty() && !steps.empty())
    return steps.front();
  llvm::Expected<func::FuncOp> found = findEntry(module, entry);
  if (!found)
    return prefixError(" ", found.takeError());
  if (std::optional<SteadyStateInfo> info = getSteadyState(*found))
    return createInnerError(
        quote(*found) + " is the " + stringifySteadyStateRole(info->role) +
        " of @" + info->step.getValue() + ", which is what can be repeated");
  for (ArrayRef<func::FuncOp> step : steps)
    if (llvm::is_contained(step, *found))
      return SmallVector<func::FuncOp>(step);
  return SmallVector<func::FuncOp>{*found};
}

//===----------------------------------------------------------------------===//
// The planner
//===----------------------------------------------------------------------===//

namespace mlir::commsched::run {

/// Makes a plan of functions.
class StepPlanner {
public:
  explicit StepPlanner(std::optional<int64_t> repetitions) {
    plan.repetitions = repetitions;
  }

  /// Plans calls of `functions`, one after the other, in every repetition.
  llvm::Error planStep(ArrayRef<func::FuncOp> functions);
  /// Plans the steady state of `step`, which planStep() has planned.
  llvm::Error planSteadyState(func::FuncOp step);

  StepPlan take() { return std::move(plan); }

private:
  using Port = std::pair<unsigned, unsigned>;

  llvm::Expected<PlannedFunction *> addFunction(func::FuncOp function,
                                                bool allowFutures);
  void linkArguments(unsigned number);
  unsigned addArgument(func::FuncOp function, const Argument &argument,
                       unsigned index, bool isFed);
  void linkResults();
  void numberResults();
  void findLastUses();
  llvm::Error planArguments(PlannedFunction &planned);
  llvm::Error planResults(PlannedFunction &planned);

  StepPlan plan;
  llvm::StringMap<unsigned> functionNumbers;
  /// By result that feeds the next repetition: the argument of the step.
  llvm::DenseMap<Port, unsigned> carried;
  /// Results that the same repetition takes.
  llvm::DenseSet<Port> taken;
};

} // namespace mlir::commsched::run

llvm::Expected<PlannedFunction *>
StepPlanner::addFunction(func::FuncOp function, bool allowFutures) {
  if (function.isExternal())
    return createInnerError("the function " + quote(function) +
                            " of the step has no body");
  llvm::Expected<Signature> signature =
      run::getSignature(function, allowFutures);
  if (!signature)
    return prefixError(": ", signature.takeError());
  PlannedFunction &planned = plan.functions.emplace_back();
  planned.function = function;
  planned.returned.resize(signature->results.size());
  planned.lastUses.resize(signature->results.size());
  planned.signature = std::move(*signature);
  return &planned;
}

//===----------------------------------------------------------------------===//
// Steps of functions
//===----------------------------------------------------------------------===//

/// Adds an argument to the step; returns its number.
unsigned StepPlanner::addArgument(func::FuncOp function,
                                  const Argument &argument, unsigned index,
                                  bool isFed) {
  plan.signature.arguments.push_back(argument);
  plan.isFed.push_back(isFed);
  plan.isInput.push_back(plan.repetitions && !isFed &&
                         getRole(function.getArgument(index)) == inputRole);
  return static_cast<unsigned>(plan.isFed.size() - 1);
}

/// Decides what the arguments of a function are. Those of several functions
/// that one result of the previous repetition feeds are one.
void StepPlanner::linkArguments(unsigned number) {
  PlannedFunction &planned = plan.functions[number];
  auto numFunctions = static_cast<unsigned>(plan.functions.size());
  for (auto [index, argument] : llvm::enumerate(planned.signature.arguments)) {
    Operand &operand = planned.operands.emplace_back();
    std::optional<StepSource> source;
    if (plan.repetitions)
      source = getStepSource(planned.function, index);
    if (!source) {
      operand.argument =
          addArgument(planned.function, argument, index, /*isFed=*/false);
      continue;
    }
    Port port(functionNumbers.lookup(source->function), source->result);
    operand.callsBack = source->iterations * numFunctions + number - port.first;
    operand.result = port.second;
    if (source->iterations == 0) {
      taken.insert(port);
      continue;
    }
    auto found = carried.find(port);
    if (found != carried.end() && numFunctions > 1) {
      operand.argument = found->second;
      continue;
    }
    operand.argument =
        addArgument(planned.function, argument, index, /*isFed=*/true);
    carried.try_emplace(port, operand.argument);
  }
}

/// The results of the step are those that the next repetition takes, and those
/// that no function takes.
void StepPlanner::linkResults() {
  for (auto [number, planned] : llvm::enumerate(plan.functions))
    for (auto [index, type] : llvm::enumerate(planned.signature.results)) {
      Port port(number, index);
      if (taken.contains(port) && !carried.contains(port))
        continue;
      planned.returned[index] = {
          static_cast<unsigned>(plan.signature.results.size()), 0};
      plan.signature.results.push_back(type);
      plan.isCarried.push_back(carried.contains(port));
    }
}

void StepPlanner::numberResults() {
  int64_t numCarried = 0;
  for (bool isCarried : plan.isCarried)
    plan.numbers.push_back(isCarried ? numCarried++
                                     : plan.numKeptByRepetition++);
}

void StepPlanner::findLastUses() {
  auto numFunctions = static_cast<unsigned>(plan.functions.size());
  for (auto [number, planned] : llvm::enumerate(plan.functions))
    for (const Operand &operand : planned.operands) {
      if (operand.callsBack == 0)
        continue;
      // Calls are periodic.
      unsigned from =
          (number + 2 * numFunctions - operand.callsBack) % numFunctions;
      unsigned &last = plan.functions[from].lastUses[operand.result];
      last = std::max(last, operand.callsBack);
    }
}

llvm::Error StepPlanner::planStep(ArrayRef<func::FuncOp> functions) {
  for (func::FuncOp function : functions) {
    functionNumbers[function.getName()] = plan.functions.size();
    llvm::Expected<PlannedFunction *> planned =
        addFunction(function, /*allowFutures=*/false);
    if (!planned)
      return planned.takeError();
    plan.signature.name +=
        (plan.signature.name.empty() ? "" : ", @") + (*planned)->signature.name;
  }
  for (unsigned number = 0; number < functions.size(); ++number)
    linkArguments(number);
  linkResults();
  numberResults();
  findLastUses();
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Steady states
//===----------------------------------------------------------------------===//

llvm::Error StepPlanner::planArguments(PlannedFunction &planned) {
  func::FuncOp function = planned.function;
  unsigned numState = getNumStateArguments(function);
  for (unsigned index = 0; index < function.getNumArguments(); ++index) {
    Operand &operand = planned.operands.emplace_back();
    if (index < numState) {
      operand.callsBack = 1;
      operand.result = index;
      continue;
    }
    operand.argument = static_cast<unsigned>(*getStepArgument(function, index));
    std::optional<int64_t> repetition = getArgumentRepetition(function, index);
    operand.repetition = repetition.value_or(0);
    if (plan.isInput[operand.argument] && !repetition)
      return createInnerError(
          "argument " + Twine(index) + " of " + quote(function) +
          " is the same in all repetitions, for it lacks '" +
          repetitionAttrName + "', but argument " + Twine(operand.argument) +
          " of @" + plan.signature.name + " has the role \"input\"");
  }
  return llvm::Error::success();
}

/// Requires that `planned` returns the step's results of `count` repetitions,
/// each once.
llvm::Error StepPlanner::planResults(PlannedFunction &planned) {
  func::FuncOp function = planned.function;
  SteadyStateInfo info = *getSteadyState(function);
  int64_t count = info.getNumResultRepetitions();
  llvm::DenseSet<std::pair<unsigned, int64_t>> found;
  for (unsigned index = getNumStateResults(function),
                end = function.getNumResults();
       index < end && count > 0; ++index) {
    ReturnedResult result{
        static_cast<unsigned>(*getStepResult(function, index)),
        getResultRepetition(function, index).value_or(count - 1)};
    if (!found.insert({result.result, result.repetition}).second)
      return createInnerError(quote(function) + " returns result " +
                              Twine(result.result) + " of @" +
                              plan.signature.name + " for repetition " +
                              Twine(result.repetition) + " twice");
    planned.returned[index] = result;
  }
  bool isEpilogue = info.role == SteadyStateRole::Epilogue;
  for (unsigned result = 0; result < plan.isCarried.size(); ++result)
    for (int64_t repetition = 0; repetition < count; ++repetition) {
      bool isNeeded =
          !plan.isCarried[result] || (isEpilogue && repetition + 1 == count);
      if (isNeeded && !found.contains({result, repetition}))
        return createInnerError(quote(function) + " does not return result " +
                                Twine(result) + " of @" + plan.signature.name +
                                " for repetition " + Twine(repetition) +
                                ", counted from its first");
    }
  return llvm::Error::success();
}

llvm::Error StepPlanner::planSteadyState(func::FuncOp step) {
  plan.functions.clear();
  auto symbol = FlatSymbolRefAttr::get(step.getNameAttr());
  for (SteadyStateRole role :
       {SteadyStateRole::Prologue, SteadyStateRole::Steady,
        SteadyStateRole::Epilogue}) {
    FunctionOpInterface found = findSteadyStateFunction(step, symbol, role);
    if (!found)
      return createInnerError("the steady state of " + quote(step) +
                              " has no function with the role \"" +
                              stringifySteadyStateRole(role) + "\"");
    llvm::Expected<PlannedFunction *> planned = addFunction(
        cast<func::FuncOp>(found.getOperation()), /*allowFutures=*/true);
    if (!planned)
      return planned.takeError();
    if (llvm::Error error = planArguments(**planned))
      return error;
    if (llvm::Error error = planResults(**planned))
      return error;
    unsigned numState =
        role == SteadyStateRole::Epilogue ? 0 : getNumStateResults(found);
    std::fill_n((*planned)->lastUses.begin(), numState, 1);
    plan.depth = getSteadyState(found)->depth;
  }
  return llvm::Error::success();
}

/// The depth of the steady state of `step`; none if it has none.
static std::optional<int64_t> findDepth(func::FuncOp step) {
  auto symbol = FlatSymbolRefAttr::get(step.getNameAttr());
  for (SteadyStateRole role :
       {SteadyStateRole::Prologue, SteadyStateRole::Steady,
        SteadyStateRole::Epilogue})
    if (auto function = findSteadyStateFunction(step, symbol, role))
      return getSteadyState(function)->depth;
  return std::nullopt;
}

llvm::Expected<StepPlan> StepPlan::create(ModuleOp module, StringRef entry,
                                          std::optional<int64_t> repetitions) {
  StepPlanner planner(repetitions);
  if (!repetitions) {
    llvm::Expected<func::FuncOp> function = findEntry(module, entry);
    if (!function)
      return prefixError(" ", function.takeError());
    if (llvm::Error error = planner.planStep(*function))
      return error;
    return planner.take();
  }
  llvm::Expected<SmallVector<func::FuncOp>> step = findStep(module, entry);
  if (!step)
    return step.takeError();
  if (llvm::Error error = planner.planStep(*step))
    return error;
  if (step->size() > 1)
    return planner.take();
  std::optional<int64_t> depth = findDepth(step->front());
  if (depth && *repetitions >= *depth - 1)
    if (llvm::Error error = planner.planSteadyState(step->front()))
      return error;
  return planner.take();
}
