//===- Experiment.cpp - Passes on one function ----------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Experiment.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "Sample.h"

#include <algorithm>

using namespace mlir;
using namespace mlir::commsched;
using schedule::Order;
using schedule::Problem;

using Places = DenseMap<Operation *, int32_t>;

int64_t mlir::commsched::takeMedian(std::vector<int64_t> &times) {
  auto middle = times.begin() + times.size() / 2;
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

static Places getPlaces(Block &block) {
  Places places;
  for (Operation &op : block.without_terminator())
    places.try_emplace(&op, static_cast<int32_t>(places.size()));
  return places;
}

LogicalResult Experiment::finish(Outcome &outcome, LoneFunction &result,
                                 const Places &places) {
  for (Operation &op : result.getBlock().without_terminator()) {
    auto it = places.find(&op);
    if (it == places.end())
      return op.emitOpError("was not in the program");
    outcome.order.push_back(it->second);
    if (auto info = dyn_cast_if_present<DictionaryAttr>(
            op.getDiscardableAttr(reorderInfoAttrName)))
      outcome.reorderInfos.emplace_back(it->second, info);
  }
  if (outcome.order.size() != places.size())
    return result.getModule().emitError(
        "has fewer operations than the program");
  FailureOr<StepReport> report = result.report();
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
    LoneFunction result = program.clone();
    Places places = getPlaces(result.getBlock());
    int64_t timeNs;
    if (!setup.empty() && failed(result.runPasses(setup, timeNs)))
      return failure();
    if (failed(result.runPasses(pipeline, timeNs)))
      return failure();
    times.push_back(timeNs);
    if (run == 0 && failed(finish(outcome, result, places)))
      return failure();
  }
  outcome.timeNs = takeMedian(times);
  return outcome;
}

//===----------------------------------------------------------------------===//
// Solvers
//===----------------------------------------------------------------------===//

FailureOr<Outcome> Experiment::runSolver(Solver solver) {
  LoneFunction result = program.clone();
  auto function = dyn_cast<func::FuncOp>(result.getFunction().getOperation());
  if (!function)
    return result.getFunction().emitOpError("is not a func.func");
  Places places = getPlaces(result.getBlock());
  FailureOr<BlockProblem> original = result.createProblem(StreamOrder::Free);
  if (failed(original))
    return failure();
  Problem problem = completeFor(solver, original->getProblem());
  Result<Order> order = Error{""};
  std::vector<int64_t> times;
  for (unsigned run = 0; run < numRuns; ++run)
    times.push_back(
        takeSample([&] { order = solve(solver, problem, function); }).timeNs);
  if (!order)
    return result.getModule().emitError("no order was found: ")
           << order.error();
  original->apply(*order);
  Outcome outcome;
  outcome.timeNs = takeMedian(times);
  if (failed(finish(outcome, result, places)))
    return failure();
  return outcome;
}
