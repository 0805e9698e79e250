//===- ApplySchedule.cpp - Rewriting of a block as scheduled --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../MemoryBudget.h"
#include "BlockScheduler.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::schedule;

/// The operations of the nodes of a merged program that are of a bucket.
using OperationsOfNodes = DenseMap<NodeId, SmallVector<Operation *, 2>>;

namespace {

/// Collects the operations that a rewriter creates in a block.
struct CreatedOperations : RewriterBase::Listener {
  explicit CreatedOperations(Block &block) : block(block) {}

  void notifyOperationInserted(Operation *op,
                               OpBuilder::InsertPoint previous) override {
    if (op->getBlock() == &block && !previous.isSet())
      operations.push_back(op);
  }

  Block &block;
  SmallVector<Operation *> operations;
};

} // namespace

/// Adds what was created for a bucket. What no node stands for, such as views,
/// belongs to its start or its wait.
static void addOperations(const BucketedProblem::MergedBucket &bucket,
                          const MergedCollective &merged,
                          ArrayRef<Operation *> created,
                          OperationsOfNodes &operationsOf) {
  for (Operation *op : created) {
    bool isBehind = merged.start->isBeforeInBlock(op);
    NodeId node = isBehind ? bucket.wait : bucket.start;
    if (NodeId copy = isBehind ? bucket.copyOut : bucket.copyIn;
        copy != noNode && op != merged.start && op != merged.wait)
      node = copy;
    operationsOf[node].push_back(op);
  }
}

/// Merges the collectives of each bucket. Returns the operations of its nodes.
static OperationsOfNodes mergeBuckets(const BlockProblem &problem,
                                      const BucketChoice &choice,
                                      Block &block) {
  CreatedOperations created(block);
  IRRewriter rewriter(block.getParentOp()->getContext(), &created);
  OperationsOfNodes operationsOf;
  for (auto [index, price] : llvm::enumerate(choice.prices)) {
    // In the order in which they stand now.
    const auto &bucket = choice.merged->bucket(index);
    MergedCollective merged =
        mergeCollectives(rewriter, getMembers(problem, bucket.starts),
                         price.mode, /*multiDtype=*/false, price.casts);
    price.pin(merged);
    addOperations(bucket, merged, created.operations, operationsOf);
    created.operations.clear();
  }
  return operationsOf;
}

/// The operations of a block in `order`, one of its merged program.
static SmallVector<Operation *>
listOperations(const BlockProblem &problem, const BucketChoice &choice,
               const OperationsOfNodes &operationsOf, const Order &order) {
  SmallPtrSet<Operation *, 8> absorbed;
  for (const PricedBucket &price : choice.prices)
    absorbed.insert_range(price.casts);
  SmallVector<Operation *> operations;
  for (NodeId node : order) {
    if (choice.merged->bucketOf(node) >= 0)
      llvm::append_range(operations, operationsOf.at(node));
    else if (Operation *op =
                 problem.getOperation(choice.merged->originalOf(node));
             !absorbed.contains(op))
      operations.push_back(op);
  }
  return operations;
}

bool BlockSearch::apply(const BlockSchedule &schedule) const {
  if (schedule.split) {
    keepBaselineBytes(function, block, program.step.peakBytes);
    BlockSchedule rest = schedule;
    rest.split = nullptr;
    schedule.split->apply(rest);
    schedule.split->split->adopt();
    return true;
  }
  bool isMoved = schedule.blockOrder != problem.getProblem().programOrder();
  if (!isMoved && !schedule.buckets)
    return false;
  keepBaselineBytes(function, block, program.step.peakBytes);
  problem.apply(schedule.blockOrder);
  if (!schedule.buckets)
    return true;
  OperationsOfNodes operationsOf =
      mergeBuckets(problem, *schedule.buckets, block);
  Operation *last = nullptr;
  for (Operation *op : listOperations(problem, *schedule.buckets, operationsOf,
                                      schedule.step.order)) {
    if (last)
      op->moveAfter(last);
    else
      op->moveBefore(&block, block.begin());
    last = op;
  }
  return true;
}
