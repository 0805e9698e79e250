//===- PairReport.cpp - Reports on a forward and its backward -------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Report/PairReport.h"
#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/OperationTexts.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Schedule/Bounds/LowerBounds.h"
#include "ReportParts.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::BufferId;
using schedule::MemoryTimeline;
using schedule::NodeId;
using schedule::Problem;

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// The lower bound of the time of `half`. Emits an error if there is none.
static FailureOr<int64_t> computeBoundNs(const BlockProblem &half) {
  Result<schedule::TightLowerBound> bound =
      computeTightLowerBound(half.getProblem());
  if (!bound)
    return emitError(half.getOperation(0)->getLoc(), "cannot be scheduled: ")
           << bound.error();
  return bound->ns;
}

FailureOr<std::optional<PairCosts>>
mlir::commsched::computePairCosts(FunctionPair pair, OperationCosts &costs,
                                  std::string &reason) {
  auto getCost = [&](Operation *op) { return costs.price(op); };
  FailureOr<std::optional<PairProblem>> both =
      PairProblem::create(pair, getCost, reason, StreamOrder::Free);
  if (failed(both))
    return failure();
  if (!*both)
    return std::optional<PairCosts>();
  FailureOr<int64_t> forwardNs = computeBoundNs((*both)->forward);
  FailureOr<int64_t> backwardNs = computeBoundNs((*both)->backward);
  if (failed(forwardNs) || failed(backwardNs))
    return failure();
  const Problem &problem = (*both)->problem;
  const Problem &backward = (*both)->backward.getProblem();
  Result<MemoryTimeline> memory =
      simulateMemory(problem, problem.programOrder());
  Result<MemoryTimeline> alone =
      simulateMemory(backward, backward.programOrder());
  if (!memory || !alone)
    return emitError(pair.backward.getLoc(), "cannot be simulated: ")
           << (!memory ? memory.error() : alone.error());
  PairCosts result;
  result.peakBytes = memory->peakBytes;
  result.boundNs = *forwardNs + *backwardNs;
  for (NodeId node = 0; node < backward.numNodes(); ++node)
    result.besideBackwardBytes =
        std::max(result.besideBackwardBytes,
                 memory->allocatedBytes[(*both)->getBetween() + 1 + node] -
                     alone->allocatedBytes[node]);
  return std::optional(result);
}

//===----------------------------------------------------------------------===//
// Time and memory
//===----------------------------------------------------------------------===//

/// Appends the collectives and computations of `half`, which begins at
/// `beginNs`.
static void addHalf(StepReport &report, const StepReport &half,
                    int64_t beginNs) {
  report.numOps += half.numOps;
  report.overBudgetBytes =
      std::max(report.overBudgetBytes, half.overBudgetBytes);
  report.lowerBoundNs += half.lowerBoundNs;
  report.tightLowerBoundNs += half.tightLowerBoundNs;
  report.mergingLowerBoundNs += half.mergingLowerBoundNs;
  report.commBytes = saturatingAdd(report.commBytes, half.commBytes);
  report.transferBytes =
      saturatingAdd(report.transferBytes, half.transferBytes);
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
  // The operation between the halves allocates no later than the beginning of
  // the backward.
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
                              const SimulationOptions &options) {
  auto getCost = [&](Operation *op) { return costs.price(op); };
  FailureOr<std::optional<PairProblem>> both =
      PairProblem::create(pair, getCost, reason);
  if (failed(both))
    return failure();
  if (!*both)
    return std::optional<StepReport>();
  ScanningSymbolTables symbolTables;
  FailureOr<GroupContention> groups =
      computeContention((*both)->streams, costs.getTarget(), symbolTables);
  if (failed(groups))
    return failure();
  FailureOr<SimulatedProgram> simulated =
      simulateProgram(pair.forward.getLoc(), (*both)->problem,
                      groups->contention, options.allocator);
  if (failed(simulated))
    return failure();
  StepReport report;
  report.function = getJointName(pair);
  addHalf(report, forward, /*beginNs=*/0);
  addHalf(report, backward, forward.stepTimeNs);
  ReportNames forwardNames((*both)->forward);
  ReportNames backwardNames((*both)->backward);
  auto locate = [&](BufferId id) -> NamedBuffer {
    auto [isBackward, buffer] = (*both)->halfBuffers[id];
    return {isBackward ? backwardNames : forwardNames, buffer};
  };
  addSimulated(report, (*both)->problem, *simulated, locate,
               options.withBuffers);
  renumberPeak(report, (*both)->getBetween(), forwardNames, backwardNames);
  report.evidence = forward.evidence;
  report.evidence.add(backward.evidence);
  addTimes(report);
  report.halves = {forward.function, backward.function, (*both)->savedBytes};
  return std::optional(std::move(report));
}
