//===- StepPlan.cpp - Calls of a step that repeats ------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepPlan.h"

#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Dialect/SteadyState.h"
#include "CommSched/Dialect/StepAttributes.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
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
    return {0, index, index};
  // Prologue, steady state, epilogue.
  if (index == 0)
    return {0, 0, 0};
  int64_t repetition = index - 1;
  bool isLast = index + 1 == getNumCalls();
  return {isLast ? 2u : 1u, repetition + depth - 1, repetition};
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
  return llvm::join(llvm::map_range(functions,
                                    [](func::FuncOp function) {
                                      return "@" + function.getName().str();
                                    }),
                    ", ");
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
  if (entries.size() == 1)
    return entries.front();
  SmallVector<func::FuncOp> communicating;
  llvm::copy_if(entries, std::back_inserter(communicating), hasCollectives);
  if (communicating.size() == 1)
    return communicating.front();
  return llvm::createStringError(
      " has several functions that could be run: " +
      list(communicating.empty() ? entries : communicating) +
      "; choose one with --entry");
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
  planned.signature.name = function.getName().str();
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    llvm::Expected<ValueType> type =
        read(argument.getType(), "argument", index);
    if (!type)
      return type.takeError();
    planned.signature.arguments.push_back(
        {std::move(*type), getRole(argument) == unshardedParamRole,
         isFreeable(function, index)});
  }
  for (unsigned index = 0; index < function.getNumResults(); ++index) {
    llvm::Expected<ValueType> type =
        read(function.getResultTypes()[index], "result", index);
    if (!type)
      return type.takeError();
    planned.signature.results.push_back(std::move(*type));
  }
  planned.returned.resize(function.getNumResults());
  return llvm::Error::success();
}

/// Plans a call of `function` in every repetition.
static llvm::Error planStep(StepPlan &plan, func::FuncOp function) {
  if (llvm::Error error = addFunction(plan, function, /*allowFutures=*/false))
    return error;
  PlannedFunction &planned = plan.functions.back();
  plan.signature = planned.signature;
  plan.isCarried.resize(function.getNumResults());
  for (unsigned index = 0; index < function.getNumArguments(); ++index) {
    std::optional<unsigned> result;
    if (plan.repetitions)
      result = getCarriedResult(function, index);
    Operand &operand = planned.operands.emplace_back();
    operand.argument = index;
    operand.fedBy = result;
    if (result)
      plan.isCarried[*result] = true;
    plan.isFed.push_back(result.has_value());
    plan.isInput.push_back(plan.repetitions && !result &&
                           getRole(function.getArgument(index)) == inputRole);
  }
  for (unsigned index = 0; index < function.getNumResults(); ++index)
    planned.returned[index] = {index, 0};
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Steady states
//===----------------------------------------------------------------------===//

static llvm::Error planArguments(const StepPlan &plan,
                                 PlannedFunction &planned) {
  func::FuncOp function = planned.function;
  unsigned numState = getNumStateArguments(function);
  for (unsigned index = 0; index < function.getNumArguments(); ++index) {
    Operand &operand = planned.operands.emplace_back();
    if (index < numState) {
      operand.fedBy = index;
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
static llvm::Error planResults(const StepPlan &plan, PlannedFunction &planned) {
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
