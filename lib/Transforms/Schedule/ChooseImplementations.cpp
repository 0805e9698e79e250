//===- ChooseImplementations.cpp - Choice of implementations --------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads the implementations that can carry out each collective of a block, has
// the library choose among them, and writes the choice and its order.
//
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "BlockScheduler.h"
#include "CommSched/Schedule/Implementations/Implementations.h"
#include "SchedulingPass.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_CHOOSEIMPLEMENTATIONS
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;
using cost::CollectiveQuery;
using schedule::ImplementationSchedule;
using schedule::NodeId;
using schedule::Problem;
using schedule::StreamId;

//===----------------------------------------------------------------------===//
// Alternatives
//===----------------------------------------------------------------------===//

namespace {

/// The implementations of the collectives of a block, in the terms of the
/// scheduling library.
class BlockImplementations {
public:
  BlockImplementations(const BlockProblem &block, OperationCosts &costs);

  /// Whether there is anything to choose.
  bool hasChoice() const { return !names.empty(); }
  const schedule::Implementations &getAlternatives() const {
    return alternatives;
  }
  /// The streams of the block, and behind them those of alternatives.
  ArrayRef<ContentionStream> getStreams() const { return streams; }
  /// The name of alternative `index` of a node; null for the first, which is
  /// that of the program.
  StringAttr getName(NodeId node, int32_t index) const {
    auto it = names.find({node, index});
    return it == names.end() ? StringAttr() : it->second;
  }

private:
  void addAlternatives(CollectiveOpInterface collective, NodeId node);
  StreamId getStream(CollectiveOpInterface collective, StringAttr name);

  const Problem &problem;
  OperationCosts &costs;
  schedule::Implementations alternatives;
  SmallVector<ContentionStream> streams;
  DenseMap<std::pair<Attribute, StringAttr>, StreamId> streamOf;
  DenseMap<std::pair<NodeId, int32_t>, StringAttr> names;
};

} // namespace

BlockImplementations::BlockImplementations(const BlockProblem &block,
                                           OperationCosts &costs)
    : problem(block.getProblem()), costs(costs),
      alternatives(problem.numNodes()), streams(getStreamCollectives(block)) {
  for (auto [index, stream] : llvm::enumerate(streams))
    streamOf[{stream.collective.getGroupKey(), stream.implementation}] =
        static_cast<StreamId>(index);
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    if (problem.kind(node) == schedule::NodeKind::Start)
      addAlternatives(cast<CollectiveOpInterface>(block.getOperation(node)),
                      node);
}

StreamId BlockImplementations::getStream(CollectiveOpInterface collective,
                                         StringAttr name) {
  auto [it, isNew] = streamOf.try_emplace(
      {collective.getGroupKey(), name}, static_cast<StreamId>(streams.size()));
  if (isNew)
    streams.push_back({collective, name});
  return it->second;
}

/// Whether the implementation of `collective` is fixed: by name; because its
/// time would be the same for all; or because another program, which may choose
/// otherwise, carries out the other end.
static bool isFixed(CollectiveOpInterface collective, OperationCosts &costs) {
  CollectiveKind kind = collective.getCollectiveKind();
  auto own = dyn_cast<CostOpInterface>(collective.getOperation());
  return collective->hasAttr(implementationAttrName) ||
         getPinnedRuntimeNs(collective) || (own && own.getKnownRuntimeNs()) ||
         isHostTransfer(kind) || kind == CollectiveKind::Send ||
         kind == CollectiveKind::Recv;
}

void BlockImplementations::addAlternatives(CollectiveOpInterface collective,
                                           NodeId node) {
  if (isFixed(collective, costs))
    return;
  std::optional<CollectiveQuery> query = costs.getQuery(collective);
  if (!query || query->ranks <= 1)
    return;
  std::vector<schedule::Implementation> &ways = alternatives[node];
  ways.push_back({problem.costNs(node), problem.stream(node)});
  ArrayRef<cost::Implementation> known =
      costs.getTarget().implementations.get();
  for (size_t index = 1; index < known.size(); ++index) {
    query->implementation = static_cast<int32_t>(index);
    if (!known[index].isFor(query->bytes) ||
        costs.getCollectiveCost().findObstacle(*query))
      continue;
    auto name = StringAttr::get(collective.getContext(), known[index].name);
    names[{node, static_cast<int32_t>(ways.size())}] = name;
    std::optional<int64_t> measured =
        costs.findMeasuredNs(collective, known[index].name);
    ways.push_back({measured.value_or(costs.estimateCollective(*query).timeNs),
                    getStream(collective, name)});
  }
  if (ways.size() == 1)
    ways.clear();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct ChooseImplementations
    : SchedulingPass<mlir::commsched::impl::ChooseImplementationsBase<
                         ChooseImplementations>,
                     /*hasBudget=*/true, /*hasRewriting=*/false> {
  using SchedulingPass::SchedulingPass;

  void runOnOperation() override;

private:
  FailureOr<bool> chooseIn(Block &block, std::shared_ptr<CostAnalysis> pricing);
  FailureOr<ImplementationSchedule>
  choose(const BlockScheduler &scheduler,
         const BlockImplementations &implementations, CostAnalysis &pricing);
};

} // namespace

FailureOr<ImplementationSchedule>
ChooseImplementations::choose(const BlockScheduler &scheduler,
                              const BlockImplementations &implementations,
                              CostAnalysis &pricing) {
  FailureOr<GroupContention> contention = computeContention(
      implementations.getStreams(), pricing.getCosts()->getTarget(),
      pricing.getSymbolTables());
  if (failed(contention))
    return failure();
  schedule::StepSchedulerOptions options =
      scheduler.makeStepOptions(scheduler.getLimitBytes(scheduling.budget));
  options.contention = std::move(contention->contention);
  const Problem &problem = scheduler.getProblem().getProblem();
  Result<ImplementationSchedule> chosen = schedule::scheduleImplementations(
      problem, implementations.getAlternatives(), problem.programOrder(),
      options);
  if (!chosen)
    return emitError(scheduler.getBlock().getParentOp()->getLoc(),
                     "implementations cannot be chosen: ")
           << chosen.error();
  return std::move(*chosen);
}

/// How many collectives each implementation carries out.
static std::string describeChoice(const BlockProblem &block) {
  llvm::MapVector<StringRef, int64_t> counts;
  const Problem &problem = block.getProblem();
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    if (auto start = dyn_cast_if_present<CollectiveOpInterface>(
            block.getOperation(node));
        start && !isHostTransfer(start.getCollectiveKind())) {
      StringAttr name = getImplementation(start);
      ++counts[name ? name.getValue()
                    : StringRef(cost::Implementations::defaultName)];
    }
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(counts, os, [&](const auto &entry) {
    os << entry.second << " by " << entry.first;
  });
  return text;
}

/// Chooses for one block. Returns whether anything changed.
FailureOr<bool>
ChooseImplementations::chooseIn(Block &block,
                                std::shared_ptr<CostAnalysis> pricing) {
  func::FuncOp function = getOperation();
  FailureOr<std::unique_ptr<BlockScheduler>> scheduler = BlockScheduler::create(
      function, block, scheduling, /*decline=*/nullptr, pricing);
  if (failed(scheduler))
    return failure();
  if (!*scheduler)
    return false;
  const BlockProblem &problem = (*scheduler)->getProblem();
  BlockImplementations implementations(problem, *pricing->getCosts());
  if (!implementations.hasChoice())
    return false;
  FailureOr<ImplementationSchedule> chosen =
      choose(**scheduler, implementations, *pricing);
  if (failed(chosen))
    return failure();
  (*scheduler)->remarkAssumptions();
  const schedule::StepSchedule &before = (*scheduler)->getProgram().step;
  bool isChanged = false;
  for (NodeId node = 0; node < problem.getProblem().numNodes(); ++node)
    if (StringAttr name = implementations.getName(node, chosen->choice[node])) {
      problem.getOperation(node)->setDiscardableAttr(implementationAttrName,
                                                     name);
      isChanged = true;
    }
  isChanged |= problem.apply(chosen->schedule.order);
  if (!isChanged) {
    remarkBlockKept(function, block.getParentOp()->getLoc(),
                    "no other implementation makes its step of " +
                        Twine(before.stepNs) + " ns shorter");
    return false;
  }
  keepBaselineBytes(function, block, before.peakBytes);
  remark::passed(block.getParentOp()->getLoc(),
                 makeRemark("ImplementationsChosen", function.getSymName()))
      << ("the step takes " + Twine(chosen->schedule.stepNs) +
          " ns instead of " + Twine(before.stepNs) + ": " +
          describeChoice(problem))
             .str()
      << remark::metric("StepNsBefore", before.stepNs)
      << remark::metric("StepNsAfter", chosen->schedule.stepNs)
      << remark::metric("PeakBytesAfter", chosen->schedule.peakBytes);
  return true;
}

void ChooseImplementations::runOnOperation() {
  if (failed(emitOptionError(getOperation(), optionError)))
    return signalPassFailure();
  FailureOr<std::shared_ptr<CostAnalysis>> pricing =
      CostAnalysis::create(getOperation());
  if (failed(pricing))
    return signalPassFailure();
  const cost::Implementations &known =
      (*pricing)->getCosts()->getTarget().implementations;
  if (known.get().size() <= 1)
    return markAllAnalysesPreserved();
  FailureOr<bool> isChanged =
      rewriteBlocks(getBlocksWithCollectives(getOperation()),
                    [&](Block &block) { return chooseIn(block, *pricing); });
  if (failed(isChanged))
    signalPassFailure();
  else if (!*isChanged)
    markAllAnalysesPreserved();
}
