//===- ChooseImplementations.cpp - Choice of implementations --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Has the library choose among the implementations that can carry out each
// collective of a block, and writes the choice and its order.
//===----------------------------------------------------------------------===//

#include "../CollectiveAlternatives.h"
#include "../PassSupport.h"
#include "BlockScheduler.h"
#include "SchedulingPass.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_CHOOSEIMPLEMENTATIONS
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

struct ChooseImplementations
    : RewritingPass<
          SchedulingPass<mlir::commsched::impl::ChooseImplementationsBase<
                             ChooseImplementations>,
                         /*hasBudget=*/true, /*hasRewriting=*/false>> {
  using RewritingPass::RewritingPass;

  FailureOr<bool> rewrite() override;

private:
  FailureOr<bool> chooseIn(Block &block, std::shared_ptr<CostAnalysis> pricing);
  FailureOr<ImplementationSchedule>
  choose(const BlockScheduler &scheduler,
         const CollectiveAlternatives &implementations, CostAnalysis &pricing);
};

} // namespace

FailureOr<ImplementationSchedule>
ChooseImplementations::choose(const BlockScheduler &scheduler,
                              const CollectiveAlternatives &implementations,
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
  CollectiveAlternatives implementations(
      problem.getProblem(),
      [&](NodeId node) { return problem.getOperation(node); },
      *pricing->getCosts());
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

FailureOr<bool> ChooseImplementations::rewrite() {
  FailureOr<std::shared_ptr<CostAnalysis>> pricing =
      CostAnalysis::create(getOperation());
  if (failed(pricing))
    return failure();
  const cost::Implementations &known =
      (*pricing)->getCosts()->getTarget().implementations;
  if (known.get().size() <= 1)
    return false;
  return rewriteBlocks(getBlocksWithCollectives(getOperation()),
                       [&](Block &block) { return chooseIn(block, *pricing); });
}
