//===- PairReport.cpp - What both halves of a step cost -------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Report/PairReport.h"
#include "CommSched/Analysis/Costs/OperationCosts.h"
#include "CommSched/Analysis/Costs/ScanningSymbolTables.h"
#include "CommSched/Analysis/OperationTexts.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "PairProblem.h"
#include "ReportNames.h"
#include "StepMemory.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace mlir::commsched;
using schedule::BufferId;
using schedule::MemoryTimeline;
using schedule::NodeId;
using schedule::Order;
using schedule::Problem;
using schedule::Timeline;

//===----------------------------------------------------------------------===//
// Pairs
//===----------------------------------------------------------------------===//

SmallVector<FunctionPair> mlir::commsched::getFunctionPairs(Operation *module) {
  llvm::StringMap<FunctionOpInterface> functions;
  for (auto function : module->getRegion(0).getOps<FunctionOpInterface>())
    functions[function.getName()] = function;
  // The function that an attribute of `function` names, or null.
  auto follow = [&](FunctionOpInterface function, StringRef attribute) {
    auto symbol = function->getAttrOfType<FlatSymbolRefAttr>(attribute);
    return symbol ? functions.lookup(symbol.getValue()) : FunctionOpInterface();
  };
  SmallVector<FunctionPair> pairs;
  for (auto forward : module->getRegion(0).getOps<FunctionOpInterface>())
    if (FunctionOpInterface backward = follow(forward, backwardAttrName))
      if (follow(backward, forwardAttrName) == forward)
        pairs.push_back({forward, backward});
  return pairs;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

FailureOr<std::optional<PairMemory>>
mlir::commsched::computePairMemory(FunctionPair pair, std::string &reason) {
  auto getCost = [](Operation *) { return std::optional<int64_t>(0); };
  FailureOr<std::optional<PairProblem>> both =
      PairProblem::create(pair, getCost, reason);
  if (failed(both))
    return failure();
  if (!*both)
    return std::optional<PairMemory>();
  const Problem &problem = (*both)->getProblem();
  // It takes any problem without error in the order of its program.
  int64_t peakBytes =
      simulateMemory(problem, problem.programOrder())->peakBytes;
  return std::optional<PairMemory>({peakBytes, (*both)->getSavedBytes()});
}

//===----------------------------------------------------------------------===//
// Time and memory
//===----------------------------------------------------------------------===//

/// Appends the collectives and computations of `half`, which begins at
/// `beginNs`.
static void addHalf(StepReport &report, const StepReport &half,
                    int64_t beginNs) {
  report.numOps += half.numOps;
  report.lowerBoundNs += half.lowerBoundNs;
  report.tightLowerBoundNs += half.tightLowerBoundNs;
  if (llvm::AddOverflow(report.commBytes, half.commBytes, report.commBytes))
    report.commBytes = std::numeric_limits<int64_t>::max();
  for (CollectiveReport collective : half.collectives) {
    collective.startNs += beginNs;
    collective.endNs += beginNs;
    collective.waitNs += beginNs;
    report.collectives.push_back(std::move(collective));
  }
  for (ComputeReport computation : half.computations) {
    computation.startNs += beginNs;
    computation.endNs += beginNs;
    report.computations.push_back(std::move(computation));
  }
}

/// Numbers the operations at and behind the peak without the one between the
/// halves.
static void renumberPeak(StepReport &report, NodeId between,
                         const ReportNames &forward,
                         const ReportNames &backward) {
  for (LiveValue &value : report.peakValues)
    if (value.producer == between)
      value.producer.reset();
    else if (value.producer && *value.producer > between)
      --*value.producer;
  // What is between allocates, at the latest, when the backward begins.
  if (report.peakPosition > between)
    --report.peakPosition;
  report.peakPosition = std::min(report.peakPosition, report.numOps - 1);
  if (report.peakPosition >= between)
    report.peakOperation = backward.getOperationName(
        static_cast<NodeId>(report.peakPosition) - between);
  else if (report.peakPosition >= 0)
    report.peakOperation =
        forward.getOperationName(static_cast<NodeId>(report.peakPosition));
}

/// The name of the function that was partitioned.
static std::string getJointName(FunctionPair pair) {
  if (auto name = pair.forward->getAttrOfType<StringAttr>(jointAttrName))
    return makePrintable(name.getValue());
  return makePrintable(pair.forward.getName()) + "+" +
         makePrintable(pair.backward.getName());
}

FailureOr<std::optional<StepReport>>
mlir::commsched::simulatePair(FunctionPair pair, const StepReport &forward,
                              const StepReport &backward, OperationCosts &costs,
                              std::string &reason,
                              const ContentionOptions &contention) {
  auto getCost = [&](Operation *op) { return costs.getRuntimeNs(op); };
  FailureOr<std::optional<PairProblem>> both =
      PairProblem::create(pair, getCost, reason);
  if (failed(both))
    return failure();
  if (!*both)
    return std::optional<StepReport>();
  const Problem &problem = (*both)->getProblem();
  Order order = problem.programOrder();
  ScanningSymbolTables symbolTables;
  FailureOr<GroupContention> groups = computeContention(
      (*both)->getStreamCollectives(), contention, symbolTables);
  if (failed(groups))
    return failure();
  Result<Timeline> timeline = simulate(problem, order, groups->contention);
  Result<MemoryTimeline> memory = simulateMemory(problem, order);
  if (!timeline || !memory)
    return emitError(pair.forward.getLoc(), "cannot be simulated: ")
           << (!timeline ? timeline.error() : memory.error());

  StepReport report;
  report.function = getJointName(pair);
  report.stepTimeNs = timeline->stepNs;
  report.computeTimeNs = timeline->computeNs;
  report.commTimeNs = timeline->commNs;
  report.exposedCommNs = timeline->exposedCommNs;
  report.slowdownNs = timeline->slowdownNs;
  addHalf(report, forward, /*beginNs=*/0);
  addHalf(report, backward, forward.stepTimeNs);
  ReportNames forwardNames((*both)->getForward());
  ReportNames backwardNames((*both)->getBackward());
  addMemory(report, problem, *timeline, *memory, [&](BufferId id) {
    PairProblem::HalfBuffer buffer = (*both)->getHalfBuffer(id);
    const ReportNames &names = buffer.isBackward ? backwardNames : forwardNames;
    return names.getBufferName(buffer.buffer);
  });
  renumberPeak(report, (*both)->getBetween(), forwardNames, backwardNames);
  report.halves = {forward.function, backward.function,
                   (*both)->getSavedBytes()};
  return std::optional(std::move(report));
}
