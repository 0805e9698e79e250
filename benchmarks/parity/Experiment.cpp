//===- Experiment.cpp - Passes on one function ----------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Experiment.h"
#include "CommSched/Analysis/OperationCosts.h"
#include "CommSched/Analysis/ScanningSymbolTables.h"
#include "CommSched/Analysis/TargetSpec.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "Sample.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::commsched;
using ::commsched::Order;
using ::commsched::Problem;

using Places = DenseMap<Operation *, int32_t>;

int64_t mlir::commsched::takeMedian(std::vector<int64_t> &times) {
  auto middle = times.begin() + times.size() / 2;
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

static FunctionOpInterface getFunction(ModuleOp module) {
  for (auto function : module.getOps<FunctionOpInterface>())
    if (!function.isExternal())
      return function;
  llvm_unreachable("the module was made for a function with a body");
}

static Block &getBody(ModuleOp module) {
  return getFunction(module).getFunctionBody().front();
}

static FailureOr<BlockProblem> createProblem(Block &block,
                                             CollectiveOrder order) {
  FailureOr<::commsched::Target> target = getTarget(block.getParentOp());
  if (failed(target))
    return failure();
  ScanningSymbolTables symbolTables;
  OperationCosts costs(*target, /*profile=*/nullptr, symbolTables);
  FailureOr<BlockProblem> problem = BlockProblem::create(
      block, [&](Operation *op) { return costs.getRuntimeNs(op); }, order);
  if (failed(problem))
    return failure();
  if (Operation *op = problem->getUnpriced())
    return op->emitOpError("has no known cost");
  if (Value value = problem->getUnsized())
    return emitError(value.getLoc(), "a value has no static size");
  return problem;
}

static FailureOr<StepReport> reportFunction(ModuleOp module) {
  FailureOr<BlockProblem> problem =
      createProblem(getBody(module), CollectiveOrder::Kept);
  if (failed(problem))
    return failure();
  return reportStep(getFunction(module), *problem);
}

Experiment::Experiment(FunctionOpInterface function, unsigned numRuns)
    : numRuns(numRuns) {
  auto source = function->getParentOfType<ModuleOp>();
  module = ModuleOp::create(source.getLoc());
  module->getOperation()->setAttrs(source->getAttrDictionary());
  for (Operation &op : *source.getBody()) {
    auto other = dyn_cast<FunctionOpInterface>(op);
    if (!other || other == function || other.isExternal())
      module->push_back(op.clone());
  }
}

Block &Experiment::getBlock() { return getBody(*module); }

FailureOr<BlockProblem> Experiment::createProblem() {
  return ::createProblem(getBlock(), CollectiveOrder::Free);
}

FailureOr<StepReport> Experiment::report() { return reportFunction(*module); }

//===----------------------------------------------------------------------===//
// Pipelines
//===----------------------------------------------------------------------===//

static LogicalResult runPasses(ModuleOp module, StringRef pipeline,
                               std::vector<int64_t> *times = nullptr) {
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  manager.enableVerifier(false);
  if (failed(parsePassPipeline(pipeline, manager)))
    return failure();
  LogicalResult result = failure();
  Sample sample = takeSample([&] { result = manager.run(module); });
  if (times)
    times->push_back(sample.timeNs);
  return result;
}

static Places getPlaces(Block &block) {
  Places places;
  for (Operation &op : block.without_terminator())
    places.try_emplace(&op, static_cast<int32_t>(places.size()));
  return places;
}

LogicalResult Experiment::finish(Outcome &outcome, ModuleOp result,
                                 const Places &places) {
  for (Operation &op : getBody(result).without_terminator()) {
    auto it = places.find(&op);
    if (it == places.end())
      return op.emitOpError("was not in the program");
    outcome.order.push_back(it->second);
    if (auto info = dyn_cast_if_present<DictionaryAttr>(
            op.getDiscardableAttr(reorderInfoAttrName)))
      outcome.reorderInfos.emplace_back(it->second, info);
  }
  if (outcome.order.size() != places.size())
    return result.emitError("has fewer operations than the program");
  FailureOr<StepReport> report = reportFunction(result);
  if (failed(report))
    return failure();
  outcome.report = std::move(*report);
  return success();
}

FailureOr<Outcome> Experiment::runPipeline(StringRef setup,
                                           StringRef pipeline) {
  Outcome outcome;
  std::vector<int64_t> times;
  for (unsigned run = 0; run < numRuns; ++run) {
    OwningOpRef<ModuleOp> result = module->clone();
    Places places = getPlaces(getBody(*result));
    if (!setup.empty() && failed(runPasses(*result, setup)))
      return failure();
    if (failed(runPasses(*result, pipeline, &times)))
      return failure();
    if (run == 0 && failed(finish(outcome, *result, places)))
      return failure();
  }
  outcome.timeNs = takeMedian(times);
  return outcome;
}

//===----------------------------------------------------------------------===//
// Solvers
//===----------------------------------------------------------------------===//

FailureOr<Outcome> Experiment::runSolver(Solver solver) {
  OwningOpRef<ModuleOp> result = module->clone();
  auto function = dyn_cast<func::FuncOp>(getFunction(*result).getOperation());
  if (!function)
    return getFunction(*result).emitOpError("is not a func.func");
  Block &block = getBody(*result);
  Places places = getPlaces(block);
  FailureOr<BlockProblem> original =
      ::createProblem(block, CollectiveOrder::Free);
  if (failed(original))
    return failure();
  Problem problem = completeFor(solver, original->getProblem());
  ::commsched::Result<Order> order = ::commsched::Error{""};
  std::vector<int64_t> times;
  for (unsigned run = 0; run < numRuns; ++run)
    times.push_back(
        takeSample([&] { order = solve(solver, problem, function); }).timeNs);
  if (!order)
    return result->emitError("no order was found: ") << order.error();
  original->apply(*order);
  Outcome outcome;
  outcome.timeNs = takeMedian(times);
  if (failed(finish(outcome, *result, places)))
    return failure();
  return outcome;
}
