//===- BucketAlternatives.h - Ways to merge collectives ---------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ways of merging a block's collectives that the scheduler chooses from,
// each with the program that it makes. Which of them is best depends on the
// memory that there is: it is decided by scheduling them.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_SCHEDULE_BUCKETALTERNATIVES_H
#define COMMSCHED_LIB_TRANSFORMS_SCHEDULE_BUCKETALTERNATIVES_H

#include "../Bucketing/BucketCandidates.h"
#include "../Bucketing/BucketPricing.h"
#include "CommSched/Schedule/Bucketing/BucketedProblem.h"
#include "CommSched/Schedule/StepScheduler.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::commsched {

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

#endif // COMMSCHED_LIB_TRANSFORMS_SCHEDULE_BUCKETALTERNATIVES_H
