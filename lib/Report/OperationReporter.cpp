//===- OperationReporter.cpp - Operations in reports ----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReportParts.h"

#include "CommSched/Analysis/Costs/OperationCosts.h"
#include "CommSched/Analysis/Costs/RegionRuns.h"
#include "CommSched/Analysis/Cyclic/LoopProblem.h"
#include "CommSched/Analysis/OperationTexts.h"
#include "CommSched/Analysis/Split/SplitRegion.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Interfaces/Futures.h"
#include "CommSched/Schedule/Bounds/LowerBounds.h"
#include "mlir/Interfaces/CallInterfaces.h"

#include <limits>

using namespace mlir;
using namespace mlir::commsched;
using schedule::ExposureOptions;
using schedule::ExposureReason;
using schedule::NodeId;
using schedule::NodeKind;
using schedule::noNode;
using schedule::Problem;
using schedule::Timeline;

//===----------------------------------------------------------------------===//
// Operations of a block
//===----------------------------------------------------------------------===//

LogicalResult OperationReporter::addOperation(Operation *op, std::string name,
                                              int64_t beginNs, int64_t endNs,
                                              int64_t iterations) {
  if (endNs <= beginNs)
    return success();
  if (op->getNumRegions() != 0 || isa<CallOpInterface>(op))
    if (std::optional<OperationPrice> price = costs.price(op);
        price && price->commNs > 0)
      if (std::optional<SmallVector<Block *>> blocks = costs.findRuns(op))
        return addRuns(op, *blocks, {beginNs, iterations});
  report.computations.push_back({std::move(name), beginNs, endNs});
  return success();
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
  return addLimits(block, names, contention, starts, place);
}

//===----------------------------------------------------------------------===//
// Blocks inside of operations
//===----------------------------------------------------------------------===//

/// Reports the block where it stands, and returns how long it takes.
FailureOr<int64_t> OperationReporter::addRun(Block &block, BlockPlace place) {
  FailureOr<BlockProblem> problem = priceBlock(block, costs);
  if (failed(problem))
    return failure();
  const Problem &known = problem->getProblem();
  Result<Timeline> timeline = simulate(known, known.programOrder());
  if (!timeline)
    return emitError(block.getParentOp()->getLoc(), "cannot be simulated: ")
           << timeline.error();
  if (failed(addBlock(*problem, *timeline, /*contention=*/{}, place)))
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
  Result<schedule::PeriodTimeline> period = simulatePeriod(cyclic, order);
  Result<schedule::PeriodBound> bound = computePeriodBound(cyclic);
  if (!period || !bound)
    return loop.emitError("cannot be simulated: ")
           << (!period ? period.error() : bound.error());
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
    if (endNs > place.beginNs)
      report.computations.push_back(
          {getOperationName(op) + ", iterations 2 to " + std::to_string(count),
           place.beginNs, endNs});
  }
  return success();
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

/// Fills in why collectives are exposed. More memory than the program takes is
/// allowed if it started from that.
LogicalResult
OperationReporter::addLimits(const BlockProblem &block,
                             const ReportNames &names,
                             const schedule::Contention &contention,
                             const Starts &starts, BlockPlace place) {
  const Problem &problem = block.getProblem();
  bool isNested = place.iterations > 1 || place.beginNs > 0;
  ExposureOptions options;
  options.limitBytes =
      isNested ? 0 : getBaselinePeakBytes(function).value_or(0);
  options.contention = contention;
  Result<std::vector<ExposureReason>> reasons =
      explainExposure(problem, problem.programOrder(), options);
  if (!reasons)
    return emitError(function.getLoc(), "cannot be explained: ")
           << reasons.error();
  std::optional<SplitRegions> regions;
  auto start = starts.begin();
  for (const ExposureReason &reason : *reasons) {
    while (start->first != reason.collective)
      ++start;
    CollectiveReport &collective = report.collectives[start->second];
    Operation *op = block.getOperation(reason.collective);
    std::string splitting;
    if (reason.cause == schedule::ExposureCause::NothingLeft &&
        !collective.isTransfer) {
      if (!regions)
        regions.emplace(*op->getBlock());
      splitting = describeSplitting(*regions, op);
    }
    ExposureText text = describeExposure(
        problem, reason,
        [&](NodeId node) { return names.getOperationName(node); }, splitting,
        collective.isTransfer);
    collective.limitedBy = std::move(text.limit);
    collective.remedy = std::move(text.remedy);
    collective.numbers = text.numbers;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

namespace {

/// The least time of operations, whatever the order of what is inside.
class LeastTimes {
public:
  explicit LeastTimes(OperationCosts &costs) : costs(costs) {}

  /// None, after an error, if there is none.
  FailureOr<int64_t> get(Operation *op);

  FailureOr<Problem> makeProblem(Block &block);

private:
  FailureOr<int64_t> getOfLoop(Operation *loop, ArrayRef<Block *> blocks);
  FailureOr<int64_t> getOfBlock(Block &block);

  OperationCosts &costs;
};

} // namespace

/// Adds the dependences of an iteration on the one before, by the values that
/// `body` yields for its arguments. None is known where the block does not
/// yield one value for each.
static void addCarried(schedule::CyclicProblem &cyclic, Block &body) {
  Operation *terminator = body.getTerminator();
  auto loop = dyn_cast<LoopLikeOpInterface>(body.getParentOp());
  bool isPaired = body.getNumArguments() == terminator->getNumOperands();
  DenseMap<Operation *, NodeId> nodes;
  for (Operation &op : body.without_terminator())
    nodes[&op] = static_cast<NodeId>(nodes.size());
  for (BlockArgument argument : body.getArguments()) {
    OpOperand *yielded =
        loop       ? loop.getTiedLoopYieldedValue(argument)
        : isPaired ? &terminator->getOpOperand(argument.getArgNumber())
                   : nullptr;
    Operation *from = yielded ? yielded->get().getDefiningOp() : nullptr;
    if (!from || from->getBlock() != &body)
      continue;
    for (Operation *user : argument.getUsers())
      if (Operation *to = body.findAncestorOpInBlock(*user);
          to && nodes.contains(to))
        cyclic.addDependence(nodes.lookup(from), nodes.lookup(to),
                             schedule::DependenceKind::Data, 1);
  }
}

/// `problem` without its buffers, which do not bound time.
static Problem copyWithoutBuffers(const Problem &problem) {
  Problem copy;
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    problem.kind(node) == NodeKind::Wait
        ? copy.addWait(problem.startOf(node))
        : copy.addNode(problem.kind(node), problem.costNs(node),
                       problem.stream(node));
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    for (const schedule::DependenceEnd &end : problem.successors(node))
      copy.addDependence(node, end.node, end.kind);
  copy.finalize();
  return copy;
}

FailureOr<int64_t> LeastTimes::getOfLoop(Operation *loop,
                                         ArrayRef<Block *> blocks) {
  int64_t count = getTripCount(loop).count;
  int64_t leastNs = 0, computeNs = costs.price(loop).computeNs;
  for (Block *block : blocks) {
    FailureOr<Problem> problem = makeProblem(*block);
    if (failed(problem))
      return failure();
    schedule::CyclicProblem cyclic(copyWithoutBuffers(*problem));
    addCarried(cyclic, *block);
    Result<schedule::PeriodBound> bound = computePeriodBound(cyclic);
    if (!bound)
      return loop->emitError("has no lower bound: ") << bound.error();
    leastNs = std::max(leastNs, bound->ns);
  }
  return std::max(saturatingMultiply(leastNs, count), computeNs);
}

FailureOr<int64_t> LeastTimes::getOfBlock(Block &block) {
  FailureOr<Problem> problem = makeProblem(block);
  if (failed(problem))
    return failure();
  Result<schedule::TightLowerBound> bound = computeTightLowerBound(*problem);
  if (!bound)
    return emitError(block.getParentOp()->getLoc(), "has no lower bound: ")
           << bound.error();
  return bound->ns;
}

FailureOr<int64_t> LeastTimes::get(Operation *op) {
  OperationPrice price = costs.price(op);
  bool mayOverlap = price.commNs > 0 && !isa<CollectiveOpInterface>(op);
  std::optional<SmallVector<Block *>> blocks;
  if (mayOverlap)
    blocks = costs.findRuns(op);
  if (!blocks)
    return price.timeNs;
  if (op->hasAttr(pipelinedAttrName)) {
    // Its waits are for collectives of the iteration before.
    int64_t count = getTripCount(op).count;
    auto loop = dyn_cast<scf::ForOp>(op);
    if (!loop)
      return price.computeNs;
    FailureOr<std::optional<LoopProblem>> problem =
        LoopProblem::create(loop, costs, [](Location, StringRef) {});
    if (failed(problem))
      return failure();
    if (!*problem)
      return price.computeNs;
    Result<schedule::PeriodBound> bound =
        computePeriodBound((*problem)->getProblem());
    if (!bound)
      return loop.emitError("has no lower bound: ") << bound.error();
    return saturatingMultiply(bound->ns, count);
  }
  if (op->getNumRegions() != 0 && getRegionUse(op) == RegionUse::Loop)
    return getOfLoop(op, *blocks);
  int64_t leastNs = 0;
  for (Block *block : *blocks) {
    FailureOr<int64_t> blockNs = getOfBlock(*block);
    if (failed(blockNs))
      return failure();
    leastNs = saturatingAdd(leastNs, *blockNs);
  }
  return leastNs;
}

FailureOr<Problem> LeastTimes::makeProblem(Block &block) {
  bool hasFailed = false;
  FailureOr<BlockProblem> problem = BlockProblem::create(
      block,
      [&](Operation *op) {
        FailureOr<int64_t> leastNs = get(op);
        hasFailed |= failed(leastNs);
        return OperationPrice::modelled(succeeded(leastNs) ? *leastNs : 0);
      },
      StreamOrder::Free);
  if (failed(problem) || hasFailed)
    return failure();
  return problem->getProblem();
}

FailureOr<Problem> mlir::commsched::makeLeastProblem(Block &block,
                                                     OperationCosts &costs) {
  return LeastTimes(costs).makeProblem(block);
}
