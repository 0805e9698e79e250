//===- BucketChoice.h - Choice of the buckets of a block --------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides which collectives of a block are merged, how the members travel,
// what that costs, and in which order the merged program runs. Nothing is
// rewritten here.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETCHOICE_H
#define COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETCHOICE_H

#include "BucketCandidates.h"
#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "CommSched/Schedule/Bucketing/BucketedProblem.h"
#include "CommSched/Schedule/Step/StepScheduler.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::commsched {

//===----------------------------------------------------------------------===//
// Prices
//===----------------------------------------------------------------------===//

/// How a bucket travels, and what that costs.
struct PricedBucket {
  BucketMode mode = BucketMode::Copy;
  schedule::BucketCost cost;
  /// What its copy-in absorbs; cost.absorbed has the same.
  SmallVector<Operation *> casts;
};

/// The collectives that start at these nodes of `problem`.
SmallVector<CollectiveOpInterface>
getMembers(const BlockProblem &problem, ArrayRef<schedule::NodeId> starts);

class BucketPricer {
public:
  /// Both have to live on. O(nodes).
  BucketPricer(const BlockProblem &problem, OperationCosts &costs);

  /// The first of the modes in which the members cost least, all on streams and
  /// in copies counted; the first of them if no cost is known. Linear in the
  /// members and the uses of what they send.
  PricedBucket price(ArrayRef<schedule::NodeId> starts,
                     ArrayRef<BucketMode> modes) const;

private:
  const BlockProblem &problem;
  OperationCosts &costs;
  DenseMap<Operation *, schedule::NodeId> nodes;
};

//===----------------------------------------------------------------------===//
// Decisions by size or plan
//===----------------------------------------------------------------------===//

/// What is to become of the collectives of a block.
struct BucketDecision {
  BucketCandidates candidates;
  schedule::Bucketing bucketing;
  /// By bucket.
  SmallVector<BucketMode> modes;
  /// Only if there are buckets: the merged program, and its order.
  std::optional<schedule::BucketedProblem> program;
  schedule::Order order;
  /// What the merged program takes; without buckets, as long as can be.
  int64_t stepNs = std::numeric_limits<int64_t>::max();
};

/// Emits the error that a solver found no order for a block of `function`.
LogicalResult reportNoOrder(func::FuncOp function, const std::string &error);

class BucketDecider {
public:
  BucketDecider(func::FuncOp function, const BlockProblem &problem,
                BucketingPassOptions &options, OperationCosts &costs,
                SymbolTableCollection &symbolTables);

  /// The decision about `collectives`. By the rule with which the program is
  /// shortest, if there are several and all costs are known, and otherwise by
  /// the first. Emits an error if the program cannot be scheduled.
  FailureOr<BucketDecision> decide(const MergeableCollectives &collectives);

private:
  FailureOr<BucketDecision> decide(ArrayRef<MergeableCollective> collectives,
                                   const StepRule *rule);
  FailureOr<schedule::Bucketing> form(const BucketCandidates &candidates);
  LogicalResult place(std::vector<schedule::BucketCost> prices, bool hasSteps,
                      BucketDecision &decision);

  func::FuncOp function;
  const BlockProblem &problem;
  BucketingPassOptions &options;
  BucketPricer pricer;
  SymbolTableCollection &symbolTables;
};

//===----------------------------------------------------------------------===//
// Alternatives for the scheduler
//===----------------------------------------------------------------------===//

/// One way to merge collectives.
struct BucketAlternative {
  /// In words, for remarks.
  std::string rule;
  std::vector<schedule::Bucket> buckets;
  /// By bucket. No SmallVector, which would make vectors of alternatives copy
  /// them when they grow.
  std::vector<PricedBucket> prices;
  /// The merged program; the problem that it was made of has to live on.
  schedule::BucketedProblem merged;
  /// An order of `merged`, and the merged program numbered by it.
  schedule::Order numbering;
  schedule::Problem program;
};

/// What collectives may be merged at all.
struct MergeableSet {
  /// By kind of collective.
  struct Kind {
    BucketingPassOptions options;
    MergeableCollectives collectives;
  };
  SmallVector<Kind, 3> kinds;
  /// Whether they belong to sharded parameters, which have steps.
  bool hasSteps = true;
  /// Whether the program has buckets already. Then it keeps those that it has.
  bool hasBucket = false;
};

/// Finds the gathers and reductions of `problem` that may share buckets: those
/// of sharded parameters, or all if there are none. `isBitwise`: reductions
/// only side by side. Linear in the operations.
MergeableSet
findMergeableSet(Block &block, const BlockProblem &problem, bool isBitwise,
                 OperationCosts &costs,
                 std::shared_ptr<const cost::MeasuredTable> profile);

/// Merges them by blocks of the model, by parts of blocks, and by several
/// sizes; what has no steps, by what saturates the group. What comes to the
/// same, or to nothing, is left out. Emits an error if
/// a way makes no program.
FailureOr<std::vector<BucketAlternative>>
listBucketAlternatives(func::FuncOp function, const BlockProblem &problem,
                       MergeableSet &mergeable, OperationCosts &costs,
                       SymbolTableCollection &symbolTables);

/// Whether `a`, of a merged program, is to be preferred to `b`, of another one:
/// it is within the limit and `b` is not, or its step is shorter by a
/// thousandth or more. Merging moves what a simulation may be wrong about.
bool isBetter(const schedule::StepSchedule &a, const schedule::StepSchedule &b,
              int64_t limitBytes);

/// How an alternative is scheduled: scheduleStep() or sketchStep().
using StepSolver = decltype(schedule::scheduleStep);

/// A schedule of an alternative by `solver`, as the rewritten program will run
/// it, with copies directly beside their collectives. The order is one of
/// `alternative.merged`, verified and simulated.
Result<schedule::StepSchedule>
scheduleMerged(const BucketAlternative &alternative, StepSolver &solver,
               const schedule::StepSchedulerOptions &options);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETCHOICE_H
