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

int64_t StepPlan::countCalls(unsigned function) const {
  if (depth == 1)
    return getNumRepetitions();
  return function == 1 ? getNumCalls() - 2 : 1;
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

/// The function that is the step.
static llvm::Expected<func::FuncOp> findStep(ModuleOp module, StringRef entry,
                                             bool repeats) {
  llvm::Expected<func::FuncOp> found = findEntry(module, entry);
  if (!found)
    return prefixError(" ", found.takeError());
  if (std::optional<SteadyStateInfo> info = getSteadyState(*found);
      info && repeats)
    return createInnerError(
        quote(*found) + " is the " + stringifySteadyStateRole(info->role) +
        " of @" + info->step.getValue() + ", which is what can be repeated");
  return *found;
}

static llvm::Expected<PlannedFunction *>
addFunction(StepPlan &plan, func::FuncOp function, bool allowFutures) {
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
  planned.signature = std::move(*signature);
  return &planned;
}

/// Plans a call of `function` in every repetition.
static llvm::Error planStep(StepPlan &plan, func::FuncOp function) {
  llvm::Expected<PlannedFunction *> added =
      addFunction(plan, function, /*allowFutures=*/false);
  if (!added)
    return added.takeError();
  PlannedFunction &planned = **added;
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
    llvm::Expected<PlannedFunction *> planned = addFunction(
        plan, cast<func::FuncOp>(found.getOperation()), /*allowFutures=*/true);
    if (!planned)
      return planned.takeError();
    if (llvm::Error error = planArguments(plan, **planned))
      return error;
    if (llvm::Error error = planResults(plan, **planned))
      return error;
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
  StepPlan plan;
  plan.repetitions = repetitions;
  llvm::Expected<func::FuncOp> step =
      findStep(module, entry, repetitions.has_value());
  if (!step)
    return step.takeError();
  if (llvm::Error error = planStep(plan, *step))
    return error;
  std::optional<int64_t> depth = findDepth(*step);
  if (repetitions && depth && *repetitions >= *depth - 1)
    if (llvm::Error error = planSteadyState(plan, *step))
      return error;
  return plan;
}
