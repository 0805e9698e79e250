//===- BucketDecision.h - What becomes of collectives -----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Decides which collectives of a block are merged, how the members travel, and
// in which order the program then runs. Nothing is rewritten here.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETDECISION_H
#define COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETDECISION_H

#include "BucketCandidates.h"
#include "BucketPricing.h"
#include "CommSched/Schedule/Bucketing/BucketedProblem.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::commsched {

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

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_BUCKETING_BUCKETDECISION_H
