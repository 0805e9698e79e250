//===- PredictedTotals.cpp - Predictions for all repetitions --------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PredictedTotals.h"

#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OwningOpRef.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::run;

/// So many calls of a steady state are simulated. The period is the mean of the
/// second half.
static constexpr int64_t maxSimulatedCalls = 16;

PredictedTotals mlir::commsched::run::getTotals(const StepReport &report) {
  PredictedTotals totals;
  totals.stepNs = report.stepTimeNs;
  totals.exposedNs = report.exposedCommNs;
  totals.peakBytes = report.peakMemoryBytes;
  totals.hostPeakBytes = report.hostPeakBytes;
  return totals;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

static FailureOr<std::optional<PredictedTotals>>
predictStep(const StepPlan &plan, OperationCosts &costs, std::string &reason) {
  int64_t stepNs = 0, exposedNs = 0;
  PredictedTotals totals;
  for (const PlannedFunction &planned : plan.functions) {
    FailureOr<std::optional<StepReport>> report =
        simulateFunction(planned.function, costs, reason);
    if (failed(report))
      return failure();
    if (!*report)
      return std::optional<PredictedTotals>();
    stepNs += (*report)->stepTimeNs;
    exposedNs += (*report)->exposedCommNs;
    // What several functions need together depends on their caller.
    if (plan.functions.size() == 1)
      totals = getTotals(**report);
  }
  totals.periodNs = stepNs;
  totals.stepNs = plan.getNumRepetitions() * stepNs;
  totals.exposedNs = plan.getNumRepetitions() * exposedNs;
  return std::optional(totals);
}

//===----------------------------------------------------------------------===//
// Steady states
//===----------------------------------------------------------------------===//

namespace {

/// A function that is all calls of a steady state, one after the other.
class CallSequence {
public:
  CallSequence(const StepPlan &plan, ModuleOp module, int64_t numCalls);
  ~CallSequence() { function.erase(); }
  CallSequence(const CallSequence &) = delete;
  CallSequence &operator=(const CallSequence &) = delete;

  func::FuncOp getFunction() const { return function; }

private:
  void append(func::FuncOp called);

  func::FuncOp function;
  OpBuilder builder;
  SmallVector<Value> state;
};

} // namespace

CallSequence::CallSequence(const StepPlan &plan, ModuleOp module,
                           int64_t numCalls)
    : builder(module.getContext()) {
  builder.setInsertionPointToEnd(module.getBody());
  function =
      func::FuncOp::create(builder, module.getLoc(), plan.signature.name,
                           builder.getFunctionType({}, {}));
  builder.setInsertionPointToEnd(function.addEntryBlock());
  append(plan.functions[0].function);
  for (int64_t call = 0; call < numCalls; ++call)
    append(plan.functions[1].function);
  append(plan.functions[2].function);
  func::ReturnOp::create(builder, module.getLoc());
}

/// Appends the body of `called`, which takes and returns the state.
void CallSequence::append(func::FuncOp called) {
  IRMapping mapping;
  Block &body = called.getBody().front();
  for (BlockArgument argument : body.getArguments()) {
    unsigned number = argument.getArgNumber();
    Value value =
        number < state.size()
            ? state[number]
            : function.getBody().addArgument(argument.getType(),
                                             argument.getLoc());
    mapping.map(argument, value);
  }
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  state.clear();
  for (Value returned : body.getTerminator()->getOperands())
    state.push_back(mapping.lookup(returned));
  if (getSteadyState(called)->role != SteadyStateRole::Epilogue)
    state.truncate(getNumStateResults(called));
}

/// The time of a call of the steady state among `numCalls` of them.
static std::optional<int64_t> findPeriod(const StepReport &report,
                                         func::FuncOp prologue,
                                         func::FuncOp steady,
                                         int64_t numCalls) {
  auto countCollectives = [](func::FuncOp function) {
    return llvm::count_if(function.getBody().front(), [](Operation &op) {
      return isa<CollectiveOpInterface>(op);
    });
  };
  int64_t before = countCollectives(prologue),
          ofCall = countCollectives(steady);
  int64_t middle = numCalls / 2, last = numCalls - 1;
  if (ofCall == 0 || middle == last)
    return std::nullopt;
  auto getStartNs = [&](int64_t call) {
    return report.collectives[before + call * ofCall].startNs;
  };
  return (getStartNs(last) - getStartNs(middle)) / (last - middle);
}

static FailureOr<std::optional<PredictedTotals>>
predictSteadyState(const StepPlan &plan, ModuleOp module, OperationCosts &costs,
                   std::string &reason) {
  auto simulate = [&](int64_t numCalls) {
    CallSequence sequence(plan, module, numCalls);
    return simulateFunction(sequence.getFunction(), costs, reason);
  };
  for (const PlannedFunction &planned : plan.functions)
    if (!llvm::hasSingleElement(func::FuncOp(planned.function).getBody())) {
      reason = "its body has several blocks";
      return std::optional<PredictedTotals>();
    }
  FailureOr<std::optional<StepReport>> report = simulate(maxSimulatedCalls);
  if (failed(report))
    return failure();
  if (!*report)
    return std::optional<PredictedTotals>();
  PredictedTotals totals;
  totals.periodNs = findPeriod(**report, plan.functions[0].function,
                               plan.functions[1].function, maxSimulatedCalls);
  int64_t numCalls = plan.countCalls(1);
  int64_t numMore = std::max<int64_t>(numCalls - maxSimulatedCalls, 0);
  if (numCalls < maxSimulatedCalls) {
    report = simulate(numCalls);
    if (failed(report))
      return failure();
  }
  if (!totals.periodNs && numMore > 0)
    return std::optional(totals);
  int64_t numRepetitions = plan.getNumRepetitions();
  int64_t computeNs =
      (*report)->computeTimeNs / (numRepetitions - numMore) * numRepetitions;
  totals.stepNs =
      (*report)->stepTimeNs + numMore * totals.periodNs.value_or(0);
  totals.exposedNs = *totals.stepNs - computeNs;
  return std::optional(totals);
}

FailureOr<std::optional<PredictedTotals>>
mlir::commsched::run::predictRepetitions(const StepPlan &plan, ModuleOp module,
                                         const cost::MeasuredTable *profile,
                                         std::string &reason) {
  CostAnalysis analysis(module, profile);
  OperationCosts *costs = analysis.getCosts();
  if (!costs)
    return failure();
  return plan.depth == 1 ? predictStep(plan, *costs, reason)
                         : predictSteadyState(plan, module, *costs, reason);
}
