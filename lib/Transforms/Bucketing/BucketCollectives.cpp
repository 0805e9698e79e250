//===- BucketCollectives.cpp - Merges collectives of a function -----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BucketCollectives.h"

#include "../BlockScheduling.h"
#include "../MemoryBudget.h"
#include "../Remarks.h"
#include "BucketDecision.h"
#include "BucketRemarks.h"
#include "CommSched/Analysis/Costs/ScanningSymbolTables.h"
#include "CommSched/Analysis/Costs/TargetSpec.h"
#include "CommSched/Analysis/Fsdp/FsdpAnalysis.h"
#include "CommSched/Schedule/MemoryTimeline.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::Order;
using schedule::Problem;

namespace {

/// Merges the collectives of one block, one round of buckets after the other.
class BlockBucketer {
public:
  BlockBucketer(func::FuncOp function, Block &block,
                BucketingPassOptions &options, OperationCosts &costs,
                SymbolTableCollection &symbolTables,
                SmallVectorImpl<bool> &usedEntries)
      : function(function), block(block), options(options), costs(costs),
        symbolTables(symbolTables), usedEntries(usedEntries) {}

  FailureOr<bool> run();

private:
  FailureOr<bool> runRound();
  LogicalResult merge(const BlockProblem &problem,
                      const BucketDecision &decision);
  void noteAlone(const BlockProblem &problem, const BucketDecision &decision,
                 ArrayRef<RefusedCollective> refused);

  func::FuncOp function;
  Block &block;
  BucketingPassOptions &options;
  OperationCosts &costs;
  SymbolTableCollection &symbolTables;
  /// By entry of the plan: whether it names a collective of the function.
  SmallVectorImpl<bool> &usedEntries;
  /// The starts of buckets.
  DenseSet<Operation *> made;
  /// Why collectives are alone; only if anybody wants to know.
  AloneReasons alone;
};

} // namespace

/// Keeps for the account why collectives are alone. The first reason counts: in
/// later rounds its partners are gone.
void BlockBucketer::noteAlone(const BlockProblem &problem,
                              const BucketDecision &decision,
                              ArrayRef<RefusedCollective> refused) {
  for (const RefusedCollective &collective :
       llvm::concat<const RefusedCollective>(
           refused, ArrayRef(decision.candidates.refused)))
    if (!made.contains(collective.op))
      alone.try_emplace(collective.op, collective.reason);
  for (auto [candidate, fate] : llvm::zip_equal(decision.candidates.candidates,
                                                decision.bucketing.fates)) {
    Operation *op = problem.getOperation(candidate.start);
    if (fate.bucket < 0)
      alone.try_emplace(op, explainAlone(problem, fate));
    else
      alone.erase(op);
  }
}

LogicalResult BlockBucketer::merge(const BlockProblem &problem,
                                   const BucketDecision &decision) {
  Result<Order> order = decision.program->expand(decision.order);
  if (!order)
    return reportNoOrder(function, order.error());
  const Problem &program = problem.getProblem();
  if (!problem.getUnsized())
    keepBaselineBytes(
        function, block,
        simulateMemory(program, program.programOrder())->peakBytes);
  problem.apply(*order);
  IRRewriter rewriter(function.getContext());
  for (auto [bucket, mode] :
       llvm::zip_equal(decision.bucketing.buckets, decision.modes)) {
    if (areRemarksEnabled(function))
      remarkBucket(function, problem, bucket, mode);
    made.insert(mergeCollectives(rewriter, getMembers(problem, bucket.starts),
                                 mode, options.multiDtype)
                    .start);
  }
  return success();
}

FailureOr<bool> BlockBucketer::runRound() {
  // Costs take longer to tell than all the rest: only for who looks at them.
  bool isPriced = options.preserveOverlap || options.stepRules.size() > 1;
  FailureOr<BlockProblem> problem = BlockProblem::create(
      block,
      [&](Operation *op) {
        return isPriced ? costs.getRuntimeNs(op) : std::optional<int64_t>(0);
      },
      CollectiveOrder::Free);
  if (failed(problem))
    return failure();
  // Only overlap needs all costs.
  std::optional<std::string> reason = getUnpricedReason(*problem, costs);
  if (reason && options.preserveOverlap) {
    remarkBlockKept(function, problem->getUnpriced()->getLoc(), *reason);
    return false;
  }
  std::optional<FsdpAnalysis> fsdp;
  if (options.fsdpOnly || !options.stepRules.empty())
    fsdp.emplace(block);
  MergeableCollectives collectives =
      findMergeable(*problem, options, fsdp ? &*fsdp : nullptr, costs);
  FailureOr<BucketDecision> decision =
      BucketDecider(function, *problem, options, costs, symbolTables)
          .decide(collectives);
  if (failed(decision))
    return failure();
  for (auto [entry, isUsed] : llvm::enumerate(decision->candidates.usedEntries))
    usedEntries[entry] |= isUsed;
  if (areRemarksEnabled(function))
    noteAlone(*problem, *decision, collectives.refused);
  if (decision->bucketing.buckets.empty())
    return false;
  if (failed(merge(*problem, *decision)))
    return failure();
  return true;
}

FailureOr<bool> BlockBucketer::run() {
  // Every round but the last makes a bucket, so there is an end. The last one
  // is what a second run of the pass would do: nothing. (Where the best of
  // several rules was applied, that is known beforehand.)
  bool isChanged = false;
  while (true) {
    FailureOr<bool> changed = runRound();
    if (failed(changed))
      return failure();
    isChanged |= *changed;
    if (!*changed || options.stepRules.size() > 1)
      break;
  }
  remarkAlone(function, block, alone);
  return isChanged;
}

static bool hasCollectives(Block &block, cost::CollectiveKind kind) {
  return llvm::any_of(block, [&](Operation &op) {
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    return collective && collective.getCollectiveKind() == kind;
  });
}

FailureOr<bool>
mlir::commsched::bucketCollectives(func::FuncOp function,
                                   BucketingPassOptions &options) {
  FailureOr<cost::Target> target = getTarget(function);
  if (failed(target))
    return failure();
  ScanningSymbolTables symbolTables;
  OperationCosts costs(*target, options.profile.get(), symbolTables);
  SmallVector<bool> usedEntries(options.plan.getNumEntries());
  bool isAny = false, changed = false;
  for (Block *block : getBlocksWithCollectives(function)) {
    // A scheduling problem is more work than to see that there is nothing to
    // do.
    if (!hasCollectives(*block, options.kind))
      continue;
    isAny = true;
    FailureOr<bool> blockChanged =
        BlockBucketer(function, *block, options, costs, symbolTables,
                      usedEntries)
            .run();
    if (failed(blockChanged))
      return failure();
    changed |= *blockChanged;
  }
  if (isAny && areRemarksEnabled(function))
    remarkUnusedEntries(function, options.plan, usedEntries);
  return changed;
}
