//===- StepPlan.cpp - Calls of a step that repeats ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CompiledProgram.h"

#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Dialect/SteadyState.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::run;

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

int64_t StepPlan::getNumCalls() const {
  int64_t repetitions = getNumRepetitions();
  if (depth > 1)
    return repetitions - (depth - 1) + 2;
  return repetitions;
}

PlannedCall StepPlan::getCall(int64_t index) const {
  if (depth == 1)
    return {&functions[0], index, index};
  // Prologue, steady state, epilogue.
  if (index == 0)
    return {&functions[0], 0, 0};
  int64_t repetition = index - 1;
  bool isLast = index + 1 == getNumCalls();
  return {&functions[isLast ? 2 : 1], repetition + depth - 1, repetition};
}

//===----------------------------------------------------------------------===//
// The functions of the step
//===----------------------------------------------------------------------===//

static std::string quote(func::FuncOp function) {
  return "@" + function.getName().str();
}

static bool hasCollectives(func::FuncOp function) {
  return function
      .walk([](CollectiveOpInterface) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// Names for people: "@a, @b".
static std::string list(ArrayRef<func::FuncOp> functions) {
  return llvm::join(llvm::map_range(functions, quote), ", ");
}

/// The function that is the step, as StepPlan::create says.
static llvm::Expected<func::FuncOp> findEntry(ModuleOp module, StringRef name) {
  SmallVector<func::FuncOp> entries;
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic() && !function.isExternal() &&
        !(name.empty() && getSteadyState(function)))
      entries.push_back(function);
  if (entries.empty())
    return llvm::createStringError(" has no public function with a body");
  if (!name.empty()) {
    for (func::FuncOp entry : entries)
      if (entry.getName() == name)
        return entry;
    return llvm::createStringError(" has no public function @" + name +
                                   " with a body; there is " + list(entries));
  }
  SmallVector<func::FuncOp> found =
      llvm::filter_to_vector(entries, hasCollectives);
  if (found.empty())
    found = std::move(entries);
  if (found.size() == 1)
    return found.front();
  return llvm::createStringError(" has several functions that could be run: " +
                                 list(found) + "; choose one with --entry");
}

/// An error of something in a file, whose name comes before it.
static llvm::Error createInnerError(const Twine &text) {
  return llvm::createStringError(": " + text);
}

/// Adds `function`. A future can only be passed from one function to another;
/// it is the number of a request that is held.
static llvm::Error addFunction(StepPlan &plan, func::FuncOp function,
                               bool allowFutures) {
  if (function.isExternal())
    return createInnerError("the function " + quote(function) +
                            " of the step has no body");
  auto read = [&](Type type, const char *what, unsigned index) {
    bool isNumber = allowFutures && isa<FutureType>(type);
    llvm::Expected<ValueType> value =
        getValueType(isNumber ? IntegerType::get(type.getContext(), 64) : type);
    if (!value)
      value = createInnerError(Twine(what) + " " + Twine(index) + " of " +
                               quote(function) + " " +
                               llvm::toString(value.takeError()));
    return value;
  };
  PlannedFunction &planned = plan.functions.emplace_back();
  planned.function = function;
  planned.name = function.getName().str();
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    llvm::Expected<ValueType> type =
        read(argument.getType(), "argument", index);
    if (!type)
      return type.takeError();
    Argument &added = planned.arguments.emplace_back();
    added.type = std::move(*type);
    added.scratch = getRole(argument) == unshardedParamRole;
    added.isFreeable = isFreeable(function, index);
  }
  for (unsigned index = 0; index < function.getNumResults(); ++index) {
    llvm::Expected<ValueType> type =
        read(function.getResultTypes()[index], "result", index);
    if (!type)
      return type.takeError();
    planned.results.emplace_back().type = std::move(*type);
  }
  return llvm::Error::success();
}

/// Plans a call of `function` in every repetition.
static llvm::Error planStep(StepPlan &plan, func::FuncOp function) {
  if (llvm::Error error = addFunction(plan, function, /*allowFutures=*/false))
    return error;
  PlannedFunction &planned = plan.functions.back();
  for (auto [index, result] : llvm::enumerate(planned.results))
    result.result = index;
  for (auto [index, argument] : llvm::enumerate(planned.arguments)) {
    argument.argument = index;
    if (!plan.repetitions)
      continue;
    argument.fedBy = getCarriedResult(function, index);
    if (argument.fedBy)
      planned.results[*argument.fedBy].isCarried = true;
    else
      argument.isInput = getRole(function, index) == inputRole;
  }
  plan.step = planned;
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Steady states
//===----------------------------------------------------------------------===//

static llvm::Error planArguments(const StepPlan &plan,
                                 PlannedFunction &planned) {
  func::FuncOp function = planned.function;
  unsigned numState = getNumStateArguments(function);
  for (auto [index, argument] : llvm::enumerate(planned.arguments)) {
    if (index < numState) {
      argument.fedBy = index;
      continue;
    }
    argument.argument = *getStepArgument(function, index);
    std::optional<int64_t> repetition = getArgumentRepetition(function, index);
    argument.repetition = repetition.value_or(0);
    if (plan.step.arguments[argument.argument].isInput && !repetition)
      return createInnerError(
          "argument " + Twine(index) + " of " + quote(function) +
          " is the same in all repetitions, for it lacks '" +
          repetitionAttrName + "', but argument " + Twine(argument.argument) +
          " of @" + plan.step.name + " has the role \"input\"");
  }
  return llvm::Error::success();
}

/// Requires that `planned` returns the step's results of `count` repetitions,
/// each once.
static llvm::Error planResults(const StepPlan &plan, PlannedFunction &planned) {
  func::FuncOp function = planned.function;
  SteadyStateInfo info = *getSteadyState(function);
  int64_t count = info.getNumResultRepetitions();
  llvm::DenseSet<std::pair<unsigned, int64_t>> found;
  for (unsigned index = getNumStateResults(function),
                end = function.getNumResults();
       index < end && count > 0; ++index) {
    PlannedResult &result = planned.results[index];
    result.result = *getStepResult(function, index);
    result.repetition =
        getResultRepetition(function, index).value_or(count - 1);
    if (!found.insert({*result.result, result.repetition}).second)
      return createInnerError(quote(function) + " returns result " +
                              Twine(*result.result) + " of @" + plan.step.name +
                              " for repetition " + Twine(result.repetition) +
                              " twice");
  }
  bool isEpilogue = info.role == SteadyStateRole::Epilogue;
  for (auto [result, ofStep] : llvm::enumerate(plan.step.results))
    for (int64_t repetition = 0; repetition < count; ++repetition) {
      bool isNeeded =
          !ofStep.isCarried || (isEpilogue && repetition + 1 == count);
      if (isNeeded && !found.contains({unsigned(result), repetition}))
        return createInnerError(quote(function) + " does not return result " +
                                Twine(result) + " of @" + plan.step.name +
                                " for repetition " + Twine(repetition) +
                                ", counted from its first");
    }
  return llvm::Error::success();
}

/// Plans the steady state of `step`, which planStep() has planned.
static llvm::Error planSteadyState(StepPlan &plan, func::FuncOp step) {
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
    if (llvm::Error error =
            addFunction(plan, cast<func::FuncOp>(found.getOperation()),
                        /*allowFutures=*/true))
      return error;
    if (llvm::Error error = planArguments(plan, plan.functions.back()))
      return error;
    if (llvm::Error error = planResults(plan, plan.functions.back()))
      return error;
  }
  return llvm::Error::success();
}

llvm::Expected<StepPlan> StepPlan::create(ModuleOp module, StringRef entry,
                                          std::optional<int64_t> repetitions) {
  StepPlan plan;
  plan.repetitions = repetitions;
  llvm::Expected<func::FuncOp> step = findEntry(module, entry);
  if (!step)
    return step.takeError();
  if (std::optional<SteadyStateInfo> info = getSteadyState(*step);
      info && repetitions)
    return createInnerError(
        quote(*step) + " is the " + stringifySteadyStateRole(info->role) +
        " of @" + info->step.getValue() + ", which is what can be repeated");
  if (llvm::Error error = planStep(plan, *step))
    return error;
  // There is a prologue if there are others, and all have its depth.
  FunctionOpInterface prologue = findSteadyStateFunction(
      *step, FlatSymbolRefAttr::get(step->getNameAttr()),
      SteadyStateRole::Prologue);
  if (!repetitions || !prologue)
    return plan;
  int64_t depth = getSteadyState(prologue)->depth;
  if (*repetitions < depth - 1)
    return plan;
  plan.depth = depth;
  if (llvm::Error error = planSteadyState(plan, *step))
    return error;
  return plan;
}
