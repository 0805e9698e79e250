//===- OperationReporter.cpp - Operations in reports ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ReportParts.h"

#include "CommSched/Analysis/Bounds/LeastProblem.h"
#include "CommSched/Analysis/Costs/GroupContention.h"
#include "CommSched/Analysis/Costs/OperationCosts.h"
#include "CommSched/Analysis/Costs/RegionRuns.h"
#include "CommSched/Analysis/Cyclic/LoopProblem.h"
#include "CommSched/Analysis/OperationTexts.h"
#include "CommSched/Analysis/Problem/CalleeSummary.h"
#include "CommSched/Analysis/Split/SplitRegion.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "CommSched/Schedule/Bounds/LowerBounds.h"
#include "mlir/Interfaces/CallInterfaces.h"

#include <utility>

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

//===----------------------------------------------------------------------===//
// Operations of a block
//===----------------------------------------------------------------------===//

/// Whether `op` runs collectives inside, which may take no time.
static bool hasCollectives(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        std::optional<CalleeSummary> callee = CalleeSummary::find(inner);
        bool communicates =
            isa<CollectiveOpInterface>(inner) ||
            (callee &&
             (callee->price.commNs > 0 ||
              callee->effects == CalleeSummary::Effects::Communication));
        return communicates ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

LogicalResult OperationReporter::addOperation(Operation *op, std::string name,
                                              int64_t beginNs, int64_t endNs,
                                              int64_t iterations) {
  if (hasCollectives(op))
    if (std::optional<SmallVector<Block *>> blocks = costs.findRuns(op)) {
      BlockPlace place{beginNs, iterations};
      return isa<CallOpInterface>(op)
                 ? addCall(*blocks, place, {std::move(name), beginNs, endNs})
                 : addRuns(op, *blocks, place);
    }
  addComputation({std::move(name), beginNs, endNs});
  return success();
}

void OperationReporter::addComputation(ComputeReport computation) {
  if (computation.endNs > computation.startNs)
    report.computations.push_back(std::move(computation));
}

LogicalResult
OperationReporter::addBlock(const BlockProblem &block, const Timeline &timeline,
                            const schedule::Contention &contention,
                            BlockPlace place) {
  const Problem &problem = block.getProblem();
  ReportNames names(block, report.collectives.size());
  Starts starts;
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    Operation *op = block.getOperation(node);
    if (problem.isCollective(node)) {
      NodeId wait = problem.waitOf(node);
      starts.push_back({node, report.collectives.size()});
      addCollective(report, problem, node, op,
                    wait == noNode ? nullptr : block.getOperation(wait),
                    names.getOperationName(node), timeline, place);
    } else if (problem.kind(node) == NodeKind::Compute &&
               failed(addOperation(op, names.getOperationName(node),
                                   place.beginNs + timeline.beginNs[node],
                                   place.beginNs + timeline.endNs[node],
                                   place.iterations))) {
      return failure();
    }
  }
  return addBlockLimits(block, names, contention, starts, place);
}

//===----------------------------------------------------------------------===//
// Blocks inside of operations
//===----------------------------------------------------------------------===//

void OperationReporter::addSlowdown(int64_t onceNs, BlockPlace place) {
  int64_t &slowdownNs = bodies[current].slowdownNs;
  slowdownNs =
      saturatingAdd(slowdownNs, saturatingMultiply(onceNs, place.iterations));
}

/// Reports the block where it stands, and returns how long it takes.
FailureOr<int64_t> OperationReporter::addRun(Block &block, BlockPlace place) {
  FailureOr<BlockProblem> problem = priceBlock(block, costs);
  if (failed(problem))
    return failure();
  FailureOr<GroupContention> groups =
      computeContention(*problem, costs.getTarget(), costs.getSymbolTables());
  if (failed(groups))
    return failure();
  const Problem &known = problem->getProblem();
  Result<Timeline> timeline =
      simulate(known, known.programOrder(), groups->contention);
  if (!timeline)
    return emitError(block.getParentOp()->getLoc(), "cannot be simulated: ")
           << timeline.error();
  addSlowdown(timeline->slowdownNs, place);
  if (failed(addBlock(*problem, *timeline, groups->contention, place)))
    return failure();
  return timeline->stepNs;
}

/// Reports a loop whose iterations overlap, by one of its periods, and returns
/// how long the period takes.
FailureOr<int64_t> OperationReporter::addPipelined(scf::ForOp loop,
                                                   BlockPlace place) {
  FailureOr<std::optional<LoopProblem>> problem =
      LoopProblem::create(loop, costs, [](Location, StringRef) {});
  if (failed(problem))
    return failure();
  if (!*problem)
    return int64_t(0);
  const schedule::CyclicProblem &cyclic = (*problem)->getProblem();
  const schedule::CyclicOrder &order = (*problem)->getProgramOrder();
  FailureOr<GroupContention> groups =
      computeContention(**problem, costs.getTarget());
  if (failed(groups))
    return failure();
  Result<schedule::PeriodTimeline> period =
      simulatePeriod(cyclic, order, groups->contention);
  if (!period)
    return loop.emitError("cannot be simulated: ") << period.error();
  FailureOr<schedule::PeriodBound> bound =
      computeLeastPeriodBound(**problem, costs);
  if (failed(bound))
    return failure();
  addSlowdown(period->steady.slowdownNs, place);
  const Problem &body = cyclic.body();
  for (NodeId node : order.order) {
    Operation *op = (*problem)->getOperation(node);
    if (body.kind(node) == NodeKind::Compute &&
        failed(addOperation(op, getOperationName(op),
                            place.beginNs + period->steady.beginNs[node],
                            place.beginNs + period->steady.endNs[node],
                            place.iterations)))
      return failure();
    if (!body.isCollective(node))
      continue;
    NodeId wait = body.waitOf(node);
    auto collective = cast<CollectiveOpInterface>(op);
    addCollective(report, body, node, op,
                  wait == noNode ? nullptr : (*problem)->getOperation(wait),
                  getCollectiveName(collective, report.collectives.size()),
                  period->steady, place);
    CollectiveReport &added = report.collectives.back();
    if (added.exposedNs == 0)
      continue;
    added.limitedBy = "the period of the loop, whose iterations overlap, has "
                      "as its least time that of " +
                      makePrintable(describeBound(**problem, *bound));
    added.remedy = "a shorter least time of the period";
  }
  return period->periodNs;
}

LogicalResult OperationReporter::addRuns(Operation *op,
                                         ArrayRef<Block *> blocks,
                                         BlockPlace place) {
  int64_t beginNs = place.beginNs;
  bool isLoop = op->getNumRegions() != 0 && getRegionUse(op) == RegionUse::Loop;
  int64_t count = isLoop ? getTripCount(op).count : 1;
  if (count == 0)
    return success();
  place.iterations = saturatingMultiply(place.iterations, count);
  auto add = [&](FailureOr<int64_t> timeNs) {
    if (succeeded(timeNs))
      place.beginNs = saturatingAdd(place.beginNs, *timeNs);
    return LogicalResult(timeNs);
  };
  auto pipelined = dyn_cast<scf::ForOp>(op);
  if (pipelined && op->hasAttr(pipelinedAttrName)) {
    if (failed(add(addPipelined(pipelined, place))))
      return failure();
  } else {
    for (Block *block : blocks)
      if (failed(add(addRun(*block, place))))
        return failure();
  }
  if (count > 1) {
    int64_t endNs = beginNs;
    endNs = saturatingAdd(endNs, costs.getRuntimeNs(op));
    addComputation(
        {getOperationName(op) + ", iterations 2 to " + std::to_string(count),
         place.beginNs, endNs});
  }
  return success();
}

LogicalResult OperationReporter::addCall(ArrayRef<Block *> blocks,
                                         BlockPlace place,
                                         ComputeReport again) {
  auto [callee, isNew] = bodyOf.try_emplace(blocks.front(), bodies.size());
  size_t body = callee->second;
  bodies[current].calls.emplace_back(body, place.iterations);
  if (!isNew) {
    addComputation(std::move(again));
    return success();
  }
  bodies.emplace_back();
  ownerOf.resize(report.collectives.size(), current);
  size_t caller = std::exchange(current, body);
  for (Block *block : blocks) {
    FailureOr<int64_t> timeNs = addRun(*block, {place.beginNs, 1});
    if (failed(timeNs))
      return failure();
    place.beginNs = saturatingAdd(place.beginNs, *timeNs);
  }
  callees.push_back(body);
  ownerOf.resize(report.collectives.size(), current);
  current = caller;
  return success();
}

void OperationReporter::countCalls() {
  auto countCallees = [&](const Body &body) {
    for (auto [callee, count] : body.calls)
      bodies[callee].runs = saturatingAdd(bodies[callee].runs,
                                          saturatingMultiply(body.runs, count));
  };
  bodies.front().runs = 1;
  countCallees(bodies.front());
  for (size_t callee : llvm::reverse(callees))
    countCallees(bodies[callee]);
  for (const Body &body : bodies)
    report.slowdownNs = saturatingAdd(
        report.slowdownNs, saturatingMultiply(body.slowdownNs, body.runs));
  for (auto [index, owner] : llvm::enumerate(ownerOf)) {
    CollectiveReport &collective = report.collectives[index];
    int64_t runs = bodies[owner].runs;
    int64_t &bytes =
        collective.isTransfer ? report.transferBytes : report.commBytes;
    int64_t bytesOfRun =
        saturatingMultiply(collective.bytes, collective.iterations);
    bytes = saturatingAdd(bytes, saturatingMultiply(bytesOfRun, runs - 1));
    collective.iterations = saturatingMultiply(collective.iterations, runs);
    collective.exposedNs = saturatingMultiply(collective.exposedNs, runs);
  }
}

//===----------------------------------------------------------------------===//
// Reasons
//===----------------------------------------------------------------------===//

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

LogicalResult OperationReporter::addLimits(
    const Problem &problem, const schedule::Order &order,
    const ExposureOptions &options, const Starts &starts,
    function_ref<Operation *(NodeId)> getOperation,
    function_ref<std::string(NodeId)> getName) {
  Result<std::vector<ExposureReason>> reasons =
      explainExposure(problem, order, options);
  if (!reasons)
    return emitError(function.getLoc(), "cannot be explained: ")
           << reasons.error();
  DenseMap<NodeId, size_t> places(starts.begin(), starts.end());
  std::optional<SplitRegions> regions;
  for (const ExposureReason &reason : *reasons) {
    auto place = places.find(reason.collective);
    if (place == places.end())
      continue;
    CollectiveReport &collective = report.collectives[place->second];
    Operation *op = getOperation(reason.collective);
    std::string splitting;
    if (reason.cause == schedule::ExposureCause::NothingLeft &&
        !collective.isTransfer) {
      if (!regions)
        regions.emplace(*op->getBlock());
      splitting = describeSplitting(*regions, op);
    }
    ExposureText text = describeExposure(problem, reason, getName, splitting,
                                         collective.isTransfer);
    collective.limitedBy = std::move(text.limit);
    collective.remedy = std::move(text.remedy);
    collective.numbers = text.numbers;
  }
  return success();
}

/// Fills in why collectives are exposed. More memory than the program takes is
/// allowed if it started from that.
LogicalResult
OperationReporter::addBlockLimits(const BlockProblem &block,
                                  const ReportNames &names,
                                  const schedule::Contention &contention,
                                  const Starts &starts, BlockPlace place) {
  const Problem &problem = block.getProblem();
  bool isNested = place.iterations > 1 || place.beginNs > 0 || current > 0;
  ExposureOptions options;
  options.limitBytes =
      isNested ? 0 : getBaselinePeakBytes(function).value_or(0);
  options.contention = contention;
  return addLimits(
      problem, problem.programOrder(), options, starts,
      [&](NodeId node) { return block.getOperation(node); },
      [&](NodeId node) { return names.getOperationName(node); });
}
