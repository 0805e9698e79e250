//===- BucketCandidates.h - Collectives that may be merged ------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collects the collectives of one block that a bucketing pass may merge, with
// the reasons against the others, as input of the solver (Bucketing.h).
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETCANDIDATES_H
#define COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETCANDIDATES_H

#include "BucketPlan.h"
#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "CommSched/CostModel/MeasuredTable.h"
#include "CommSched/Schedule/Bucketing/Bucketing.h"
#include "MergeCollectives.h"

#include <memory>

namespace mlir::commsched {

class FsdpAnalysis;
class OperationCosts;

/// The criterion by which collectives are assigned to buckets.
enum class BucketGrouping {
  /// Their sizes.
  Size,
  /// The entries of a plan.
  Plan,
  /// A plan by the rule that makes the best program.
  AutomaticPlan,
};

/// The options of a bucketing pass, checked.
struct BucketingPassOptions {
  CollectiveKind kind = CollectiveKind::AllGather;
  /// How members may travel, in the order of preference: of several modes the
  /// cheapest is taken.
  SmallVector<BucketMode, 2> modes;
  /// By bucket index; the last entry stands for all further ones.
  std::vector<int64_t> capBytes;
  int64_t maxCount = std::numeric_limits<int64_t>::max();
  bool saturation = false;
  /// Whether every element keeps its place of a message.
  bool isBitwise = false;
  bool fsdpOnly = false;
  bool multiDtype = false;
  BucketGrouping grouping = BucketGrouping::Size;
  /// For BucketGrouping::Plan.
  BucketPlan plan;
};

/// A collective that may be merged with others.
struct MergeableCollective {
  CollectiveOpInterface op;
  schedule::NodeId node;
  /// How it may travel.
  SmallVector<BucketMode, 2> modes;
  /// Those with equal keys may travel together.
  Attribute key;
  /// The larger of what it sends and delivers.
  int64_t bytes = 0;
  /// From that size on its group gains little.
  int64_t saturatedBytes = 0;
  /// The gathered parameter, if there is exactly one.
  Value parameter;
};

/// A collective that stays unbucketed whatever the others are.
struct RefusedCollective {
  Operation *op;
  std::string reason;
  /// Whether it could be merged if elements might change their places.
  bool isForBitwise = false;
};

struct MergeableCollectives {
  /// In program order.
  std::vector<MergeableCollective> mergeable;
  std::vector<RefusedCollective> refused;
  /// Whether one with a wanted role is a bucket already.
  bool hasBucket = false;
};

/// The collectives of the pass's kind in a block. `fsdp` is null unless only
/// those with a role are wanted. Linear in the operations.
MergeableCollectives findMergeable(const BlockProblem &problem,
                                   const BucketingPassOptions &options,
                                   const FsdpAnalysis *fsdp,
                                   OperationCosts &costs);

/// The input of a bucketing solver.
struct BucketCandidates {
  /// In program order.
  std::vector<schedule::BucketCandidate> candidates;
  schedule::BucketingOptions options;
  /// By key: the modes in which its members can travel together.
  std::vector<SmallVector<BucketMode, 2>> modes;
  /// By key, with a rule only.
  std::vector<PlanEntry> entries;
  /// By entry of the plan: whether it names a candidate.
  SmallVector<bool> usedEntries;
  /// Collectives that the rule does not apply to.
  std::vector<RefusedCollective> refused;
};

/// Assigns collectives to entries by `rule`; without one, keys and sizes
/// decide. Emits an error if two entries of the plan name one module. Linear in
/// the collectives.
FailureOr<BucketCandidates>
makeCandidates(ArrayRef<MergeableCollective> collectives,
               const BucketingPassOptions &options, const PlanRule *rule,
               SymbolTableCollection &symbolTables);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETCANDIDATES_H
