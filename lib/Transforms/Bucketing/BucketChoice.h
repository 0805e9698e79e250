//===- BucketChoice.h - Choice of the buckets of a block --------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lists the ways in which the collectives of a block can be merged: the
// buckets, their modes and costs, and the merged program. The bucketing passes
// and commsched-schedule choose from the same ways by the same comparison. They
// differ in the score: the passes simulate the merged program in the order
// closest to the original one, commsched-schedule schedules it. This file does
// not change the IR.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETCHOICE_H
#define COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETCHOICE_H

#include "BucketCandidates.h"
#include "CommSched/Schedule/Bucketing/BucketedProblem.h"
#include "CommSched/Schedule/Step/StepScheduler.h"
#include "CommSched/Transforms/PassOptionEnums.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::commsched {

//===----------------------------------------------------------------------===//
// Prices
//===----------------------------------------------------------------------===//

/// The mode and the cost of a bucket.
struct PricedBucket {
  BucketMode mode = BucketMode::Copy;
  schedule::BucketCost cost;
  /// The operations that its copy-in absorbs; cost.absorbed has the same.
  SmallVector<Operation *> casts;
  /// What the merged start has to be pinned to, if it does.
  std::optional<int64_t> pinnedNs;

  /// Sets `commsched.runtime_ns` of the merged start, if it has to be pinned.
  void pin(const MergedCollective &merged) const;
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
// Comparison
//===----------------------------------------------------------------------===//

/// The index in `merged` of the schedule that replaces `best` if each one that
/// is better than the best before it takes its place; none if `best` stays.
/// Merging takes memory, and moves what a simulation may be wrong about: the
/// gain has to be worthwhile.
std::optional<size_t> findBest(const schedule::StepSchedule &best,
                               ArrayRef<schedule::StepSchedule> merged,
                               int64_t limitBytes);

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// Collectives of one kind, and how they may be merged.
struct MergeableKind {
  BucketingPassOptions options;
  MergeableCollectives collectives;
};

/// The collectives that commsched-schedule may merge.
struct MergeableSet {
  SmallVector<MergeableKind, 3> kinds;
  /// Whether the gathers and reductions belong to sharded parameters, which are
  /// merged by a plan.
  bool isSharded = true;
  /// Whether the program has buckets already. Then it keeps those that it has.
  bool hasBucket = false;
};

/// The options of commsched-schedule on merging.
struct MergingOptions {
  /// How members may travel.
  BucketModeOption mode = BucketModeOption::Auto;
  /// Whether permutes, broadcasts and all-to-alls stay as they are.
  bool onlyGathersAndReductions = false;
  /// Whether reductions keep every element at its place of a message: they
  /// travel only side by side, whatever the mode, and not at all where the
  /// backend packs them.
  bool isBitwise = false;
};

/// Finds the collectives of `problem` that may share buckets: of the gathers
/// and reductions those of sharded parameters, or all if there are none, and
/// all of the other kinds. Linear in the operations.
MergeableSet findMergeableSet(Block &block, const BlockProblem &problem,
                              const MergingOptions &options,
                              OperationCosts &costs);

/// One way to merge the collectives of a block.
struct BucketChoice {
  /// The criterion by which they are assigned to buckets, as text.
  std::string rule;
  BucketCandidates candidates;
  schedule::Bucketing bucketing;
  /// By bucket.
  std::vector<PricedBucket> prices;
  /// The merged program, if there are buckets. The problem that it was made of
  /// has to live on.
  std::optional<schedule::BucketedProblem> merged;
  /// The order of `merged` that is closest to that of the program.
  schedule::Order order;
};

/// The use of a merged program.
enum class MergedUse {
  /// It runs in the order of the choice. Buckets of a plan are prefetched.
  Run,
  /// It is scheduled, for which it has buffers.
  Schedule,
};

class BucketChooser {
public:
  /// All of them have to live on. O(nodes).
  BucketChooser(func::FuncOp function, const BlockProblem &problem,
                MergedUse use, OperationCosts &costs,
                SymbolTableCollection &symbolTables)
      : function(function), problem(problem), use(use), pricer(problem, costs),
        symbolTables(symbolTables) {}

  /// The buckets that `rule` makes of the collectives; without one, keys and
  /// sizes decide. Emits an error if they make no program.
  FailureOr<BucketChoice> choose(ArrayRef<MergeableKind> kinds,
                                 const PlanRule *rule);

  /// The choices by blocks of the model, by parts of blocks, and by several
  /// sizes; where there is no plan, by what saturates the group. Those that
  /// merge nothing, or the same as another, are left out.
  FailureOr<std::vector<BucketChoice>> chooseAll(const MergeableSet &mergeable);

private:
  FailureOr<BucketCandidates> findCandidates(ArrayRef<MergeableKind> kinds,
                                             const PlanRule *rule);
  FailureOr<schedule::Bucketing> form(const BucketCandidates &candidates);
  LogicalResult merge(BucketChoice &choice);

  func::FuncOp function;
  const BlockProblem &problem;
  MergedUse use;
  BucketPricer pricer;
  SymbolTableCollection &symbolTables;
};

/// Emits the error that a solver found no order for a block of `function`.
LogicalResult reportNoOrder(func::FuncOp function, const std::string &error);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETCHOICE_H
