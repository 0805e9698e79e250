//===- DeduplicateGathers.cpp - Removal of repeated gathers ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "DeduplicateGathers.h"
#include "../PassSupport.h"
#include "CommSched/Analysis/Fsdp/FsdpAnalysis.h"
#include "CommSched/Schedule/Reordering/ResultReuse.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

namespace {

/// Deduplicates the gathers of one block.
class Deduplicator {
public:
  Deduplicator(func::FuncOp function, const EqualGathers &gathers,
               const BlockProblem &block)
      : function(function), gathers(gathers), block(block),
        problem(block.getProblem()) {}

  FailureOr<bool> run(std::optional<int64_t> limitBytes);

private:
  ReuseCandidates makeCandidates() const;
  void report(const ResultReuse &reuse);
  void rewrite(const ResultReuse &reuse) const;
  std::string name(NodeId node) const {
    return describe(block.getOperation(node));
  }

  func::FuncOp function;
  const EqualGathers &gathers;
  const BlockProblem &block;
  const Problem &problem;
};

} // namespace

/// Says that `gather` stays although `earlier` is equal.
static void remarkKept(func::FuncOp function, Operation *gather,
                       Operation *earlier, const Twine &reason) {
  remark::missed(gather->getLoc(),
                 makeRemark("DuplicateGatherKept", function.getSymName()))
      << (describe(gather) + " gathers again what " + describe(earlier) +
          " has gathered: " + reason)
             .str();
}

/// Whether only operations of its block that are scheduled use what `op` makes.
static bool isUsedInside(Operation *op) {
  Block *block = op->getBlock();
  return llvm::all_of(op->getUsers(), [&](Operation *user) {
    Operation *ancestor = block->findAncestorOpInBlock(*user);
    return ancestor && !ancestor->hasTrait<OpTrait::IsTerminator>();
  });
}

ReuseCandidates Deduplicator::makeCandidates() const {
  DenseMap<Operation *, NodeId> nodeOf;
  for (NodeId node = 0; node < problem.numNodes(); ++node)
    nodeOf[block.getOperation(node)] = node;
  ReuseCandidates candidates;
  for (ArrayRef<Operation *> equal : gathers.getClasses()) {
    candidates.classes.emplace_back();
    for (Operation *gather : equal)
      candidates.classes.back().push_back(nodeOf.at(gather));
  }
  candidates.isRemovable.resize(problem.numNodes(), false);
  for (Operation *op : gathers.getPreparations())
    candidates.isRemovable[nodeOf.at(op)] = isUsedInside(op);
  return candidates;
}

void Deduplicator::report(const ResultReuse &reuse) {
  for (const ReuseDecision &decision : reuse.decisions) {
    Operation *gather = block.getOperation(decision.start);
    Operation *source = block.getOperation(decision.source);
    if (!decision.isDropped) {
      remarkKept(function, gather, source,
                 "keeping it takes " + Twine(decision.neededBytes) +
                     " bytes at " + name(decision.obstacle) + ", " +
                     Twine(decision.neededBytes - reuse.limitBytes) +
                     " over the limit of " + Twine(reuse.limitBytes));
      continue;
    }
    remark::passed(gather->getLoc(),
                   makeRemark("GatherDeduplicated", function.getSymName()))
        << (describe(gather) + " is dropped for what " + describe(source) +
            " gathers")
        << remark::metric("SavedNs", problem.costNs(decision.start))
        << remark::metric("PeakBytesBefore", reuse.oldPeakBytes)
        << remark::metric("PeakBytesAfter", reuse.newPeakBytes);
  }
}

void Deduplicator::rewrite(const ResultReuse &reuse) const {
  auto getWait = [&](NodeId start) {
    return block.getOperation(problem.waitOf(start));
  };
  for (const ReuseDecision &decision : reuse.decisions)
    if (decision.isDropped) {
      Operation *wait = getWait(decision.source);
      Operation *source = block.getOperation(decision.source);
      SmallVector<Operation *, 2> waits = {wait, getWait(decision.start)};
      SmallVector<Operation *, 2> starts = {source,
                                            block.getOperation(decision.start)};
      setOriginOfParts(wait, waits);
      setOriginOfParts(source, starts);
      getWait(decision.start)->replaceAllUsesWith(wait);
    }
  // Users come after what they use.
  for (NodeId node = problem.numNodes() - 1; node >= 0; --node)
    if (reuse.isRemoved[node])
      block.getOperation(node)->erase();
}

FailureOr<bool> Deduplicator::run(std::optional<int64_t> limitBytes) {
  Result<ResultReuse> reuse =
      reuseResults(problem, makeCandidates(), limitBytes);
  if (!reuse)
    return emitError(function.getLoc(), "gathers were not deduplicated: ")
           << reuse.error();
  if (areRemarksEnabled(function))
    report(*reuse);
  rewrite(*reuse);
  return llvm::any_of(reuse->decisions, [](const ReuseDecision &decision) {
    return decision.isDropped;
  });
}

FailureOr<bool> mlir::commsched::deduplicateGathers(
    func::FuncOp function, Block &block, const FsdpAnalysis &fsdp,
    OperationCosts &costs, std::optional<int64_t> limitBytes) {
  EqualGathers gathers(block, fsdp);
  if (areRemarksEnabled(function))
    for (const RewrittenGather &gather : gathers.getRewritten())
      remarkKept(function, gather.gather, gather.earlier,
                 describe(gather.writer) + " writes in place");
  if (gathers.getClasses().empty())
    return false;
  DenseSet<Operation *> priced;
  for (ArrayRef<Operation *> equal : gathers.getClasses())
    priced.insert(equal.begin(), equal.end());
  FailureOr<BlockProblem> problem =
      BlockProblem::create(block, [&](Operation *op) {
        return priced.contains(op) ? costs.price(op) : OperationPrice();
      });
  if (failed(problem))
    return failure();
  if (std::optional<BlockObstacle> obstacle = getObstacle(*problem)) {
    if (areRemarksEnabled(function))
      for (ArrayRef<Operation *> equal : gathers.getClasses())
        for (Operation *gather : equal.drop_front())
          remarkKept(function, gather, equal.front(), obstacle->reason);
    return false;
  }
  return Deduplicator(function, gathers, *problem).run(limitBytes);
}
