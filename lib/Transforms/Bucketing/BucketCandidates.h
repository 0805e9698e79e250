//===- BucketCandidates.h - What may be merged ------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gathers the collectives of one block that a bucketing pass may merge, with
// the keys and caps that the solver asks for, and remembers why the others may
// not.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETCANDIDATES_H
#define COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETCANDIDATES_H

#include "CommSched/Analysis/BlockProblem.h"
#include "CommSched/Schedule/Bucketing.h"
#include "MergeCollectives.h"
#include "PlanSteps.h"

namespace mlir::commsched {

class FsdpAnalysis;
class OperationCosts;

/// The options of a bucketing pass, checked.
struct BucketingPassOptions {
  ::commsched::CollectiveKind kind = ::commsched::CollectiveKind::AllGather;
  /// How members may travel, in the order of preference: of several modes the
  /// cheapest is taken.
  SmallVector<MergeMode, 2> modes;
  /// By bucket index; the last entry stands for all further ones.
  std::vector<int64_t> capBytes;
  int64_t maxCount = std::numeric_limits<int64_t>::max();
  bool saturation = false;
  bool fsdpOnly = false;
  bool multiDtype = false;
  bool preserveOverlap = false;
  /// Buckets by step instead of by size, if there are any rules: the one with
  /// which the simulated program is shortest.
  SmallVector<StepRule> stepRules;
  /// For the rule by entries.
  BucketPlan plan;
};

/// A collective that stays alone before any solver is asked.
struct RefusedCollective {
  Operation *op;
  std::string reason;
};

/// What a bucketing pass works on in one block.
struct BucketCandidates {
  /// In program order.
  std::vector<::commsched::BucketCandidate> candidates;
  ::commsched::BucketingOptions options;
  /// By key: the modes in which its members can travel together.
  std::vector<SmallVector<MergeMode, 2>> modes;
  /// By key: whether its group crosses nodes.
  std::vector<bool> crossesNodes;
  /// By key, with a rule only.
  std::vector<PlanStep> steps;
  /// By entry of the plan: whether it names a candidate.
  SmallVector<bool> usedEntries;
  std::vector<RefusedCollective> refused;
};

/// The candidates of a block. `rule` puts them into steps; without one, keys
/// and sizes decide. `fsdp` may be null unless options or rule need it. Emits an
/// error if two entries of the plan name one module. Linear in the operations
/// of the block.
FailureOr<BucketCandidates>
findBucketCandidates(const BlockProblem &problem, BucketingPassOptions &options,
                     const StepRule *rule, const FsdpAnalysis *fsdp,
                     OperationCosts &costs,
                     SymbolTableCollection &symbolTables);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETCANDIDATES_H
