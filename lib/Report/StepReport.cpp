//===- StepReport.cpp - Reports on simulated steps ------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Report/StepReport.h"
#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/OperationTexts.h"
#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "CommSched/Analysis/Split/SplitRegion.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "CommSched/Schedule/Bounds/LowerBounds.h"
#include "CommSched/Schedule/Model/ProblemTransforms.h"
#include "ReportParts.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::BufferId;
using schedule::ExposureOptions;
using schedule::ExposureReason;
using schedule::LowerBound;
using schedule::MemoryTimeline;
using schedule::NodeId;
using schedule::NodeKind;
using schedule::noNode;
using schedule::Order;
using schedule::Problem;
using schedule::TightLowerBound;
using schedule::Timeline;

int64_t StepReport::countTransfers() const {
  return llvm::count_if(collectives, [](const CollectiveReport &collective) {
    return collective.isTransfer;
  });
}

int64_t StepReport::getTotalBytes() const {
  int64_t total = 0;
  if (llvm::AddOverflow(reserved ? reserved->reservedBytes : peakMemoryBytes,
                        otherBytes, total))
    return std::numeric_limits<int64_t>::max();
  return total;
}

int64_t StepReport::countHidden() const {
  return llvm::count_if(collectives, [](const CollectiveReport &collective) {
    return collective.exposedNs == 0;
  });
}

std::vector<const CollectiveReport *> StepReport::getMostExposed() const {
  std::vector<const CollectiveReport *> exposed;
  for (const CollectiveReport &collective : collectives)
    if (collective.exposedNs > 0)
      exposed.push_back(&collective);
  auto middle =
      exposed.begin() + std::min(exposed.size(), size_t(maxMostExposed));
  std::partial_sort(exposed.begin(), middle, exposed.end(),
                    [](const CollectiveReport *a, const CollectiveReport *b) {
                      // Of one vector, so that addresses are its order.
                      return a->exposedNs != b->exposedNs
                                 ? a->exposedNs > b->exposedNs
                                 : a < b;
                    });
  exposed.erase(middle, exposed.end());
  return exposed;
}

/// Fills in what the simulated `timeline` says about each operation.
static void addOperations(StepReport &report, const BlockProblem &block,
                          const ReportNames &names, const Timeline &timeline) {
  const Problem &problem = block.getProblem();
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    if (problem.isCollective(node)) {
      NodeId wait = problem.waitOf(node);
      addCollective(report, problem, node, block.getOperation(node),
                    wait == noNode ? nullptr : block.getOperation(wait),
                    names.getOperationName(node), timeline);
    } else if (problem.kind(node) == NodeKind::Compute &&
               timeline.endNs[node] > timeline.beginNs[node]) {
      report.computations.push_back({names.getOperationName(node),
                                     timeline.beginNs[node],
                                     timeline.endNs[node]});
    }
  }
}

/// What is known about splitting the collective `op`: a report tries nothing.
static std::string describeSplitting(const SplitRegions &regions,
                                     Operation *op) {
  if (op->hasAttr(chunkAttrName))
    return "it is a chunk already";
  if (const SplitRegions::Seed *seed = regions.findSeed(op)) {
    if (!seed->nearest.empty() || !seed->widest.empty())
      return "splitting it, with the computation around it, may hide it "
             "(commsched-split)";
    if (!seed->stops.empty()) {
      const SplitStop &stop = seed->stops.front();
      return "it cannot be split: " +
             (stop.op == op ? std::string("it") : describe(stop.op)) + " " +
             stop.reason;
    }
  }
  return "it cannot be split: no product or attention divides along with it";
}

/// Fills in why collectives are exposed, or says what is wrong. More memory
/// than the program takes is allowed if it started from that.
static Status addLimits(StepReport &report, FunctionOpInterface function,
                        const BlockProblem &block, const ReportNames &names,
                        const schedule::Contention &contention) {
  const Problem &problem = block.getProblem();
  ExposureOptions options;
  options.limitBytes = getBaselinePeakBytes(function).value_or(0);
  options.contention = contention;
  Result<std::vector<ExposureReason>> reasons =
      explainExposure(problem, problem.programOrder(), options);
  if (!reasons)
    return Error{reasons.error()};
  std::optional<SplitRegions> regions;
  auto reason = reasons->begin();
  for (CollectiveReport &collective : report.collectives) {
    if (collective.exposedNs == 0)
      continue;
    std::string splitting;
    if (reason->cause == schedule::ExposureCause::NothingLeft &&
        !collective.isTransfer) {
      if (!regions)
        regions.emplace(function.getFunctionBody().front());
      splitting =
          describeSplitting(*regions, block.getOperation(reason->collective));
    }
    ExposureText text = describeExposure(
        problem, *reason++,
        [&](NodeId node) { return names.getOperationName(node); }, splitting,
        collective.isTransfer);
    collective.limitedBy = std::move(text.limit);
    collective.remedy = std::move(text.remedy);
    collective.numbers = text.numbers;
  }
  return Status::success();
}

/// Fills in the bounds, or says what is wrong with `problem`. The collectives
/// of a stream may change places in it; the plain bound is that of the orders
/// in which they do not.
static Status addBounds(StepReport &report, Problem problem) {
  Result<TightLowerBound> tight = computeTightLowerBound(problem);
  if (!tight)
    return Error{tight.error()};
  report.tightLowerBoundNs = tight->ns;
  addCollectiveOrder(problem, schedule::CollectiveOrderScope::Stream);
  problem.finalize();
  Result<LowerBound> plain = computeLowerBound(problem);
  if (!plain)
    return Error{plain.error()};
  report.lowerBoundNs = plain->ns();
  return Status::success();
}

FailureOr<StepReport>
mlir::commsched::reportStep(FunctionOpInterface function,
                            const BlockProblem &block,
                            const SimulationOptions &options) {
  const Problem &problem = block.getProblem();
  Order order = problem.programOrder();
  ScanningSymbolTables symbolTables;
  FailureOr<GroupContention> groups =
      computeContention(block, options.contention, symbolTables);
  if (failed(groups))
    return failure();
  Result<Timeline> timeline = simulate(problem, order, groups->contention);
  Result<MemoryTimeline> memory = simulateMemory(problem, order);
  StepReport report;
  Status bounds = addBounds(report, problem);
  if (!timeline || !memory || !bounds)
    return emitError(function.getLoc(), "cannot be simulated: ")
           << (!timeline ? timeline.error()
               : !memory ? memory.error()
                         : bounds.error());
  if (Status status =
          addReserved(report, problem, *timeline, options.allocator);
      !status)
    return emitError(function.getLoc(), "cannot be simulated: ")
           << status.error();

  report.function = makePrintable(function.getName());
  report.numOps = problem.numNodes();
  report.stepTimeNs = timeline->stepNs;
  report.computeTimeNs = timeline->computeNs;
  report.commTimeNs = timeline->commNs;
  report.exposedCommNs = timeline->exposedCommNs;
  report.slowdownNs = timeline->slowdownNs;
  report.unknownGroups = std::move(groups->unknownGroups);
  ReportNames names(block);
  addOperations(report, block, names, *timeline);
  if (Status status =
          addLimits(report, function, block, names, groups->contention);
      !status)
    return emitError(function.getLoc(), "cannot be explained: ")
           << status.error();
  auto getBufferName = [&](BufferId id) { return names.getBufferName(id); };
  addMemory(report, problem, *timeline, *memory, getBufferName);
  if (options.withBuffers)
    addBuffers(report, problem, *timeline, getBufferName);
  report.hostPeakBytes = computeHostPeak(
      problem, [&](BufferId buffer) { return block.getHostBytes(buffer); });
  if (report.peakPosition >= 0)
    report.peakOperation = names.getOperationName(report.peakPosition);
  return report;
}

FailureOr<std::optional<StepReport>>
mlir::commsched::simulateFunction(FunctionOpInterface function,
                                  OperationCosts &costs, std::string &reason,
                                  const SimulationOptions &options) {
  using Outcome = std::optional<StepReport>;
  auto decline = [&](std::string text) {
    reason = std::move(text);
    return Outcome();
  };
  Region &body = function.getFunctionBody();
  if (!llvm::hasSingleElement(body))
    return decline("its body has several blocks");
  CostEvidence evidence(costs);
  FailureOr<BlockProblem> block = BlockProblem::create(
      body.front(),
      [&](Operation *op) { return evidence.getRuntimeNs(op, costs); },
      StreamOrder::Free);
  if (failed(block))
    return failure();
  if (std::optional<std::string> missing = getUnpricedReason(*block, costs))
    return decline(std::move(*missing));
  if (std::optional<BlockObstacle> obstacle = getObstacle(*block))
    return decline(std::move(obstacle->reason));
  SimulationOptions simulation = options;
  simulation.contention.implementations = &costs.getTarget().implementations;
  FailureOr<StepReport> report = reportStep(function, *block, simulation);
  if (failed(report))
    return failure();
  report->evidence = std::move(evidence);
  return Outcome(std::move(*report));
}
