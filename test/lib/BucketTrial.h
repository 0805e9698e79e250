//===- BucketTrial.h - Comparison of merges with predictions ----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Predicts time and memory of random buckets in a random order, merges them,
// and compares with what the rewritten block takes.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TEST_LIB_BUCKETTRIAL_H
#define COMMSCHED_TEST_LIB_BUCKETTRIAL_H

#include "Bucketing/MergeCollectives.h"
#include "CommSched/Analysis/Problem/BlockProblem.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <random>

namespace mlir::commsched {

/// One block, merged in one way.
class BucketTrial {
public:
  BucketTrial(func::FuncOp function, Block &block, OperationCosts &costs,
              uint64_t seed)
      : function(function), block(block), costs(costs), random(seed) {}

  /// Merges the block. Emits an error where it takes another time, or other
  /// live bytes at an operation, than was predicted.
  LogicalResult run();

  size_t getNumBuckets() const { return bucketing.buckets.size(); }
  /// How many casts copy-ins have absorbed.
  size_t getNumAbsorbed() const;

private:
  FailureOr<BlockProblem> read();
  LogicalResult formBuckets(const BlockProblem &problem);
  std::vector<schedule::BucketCost> price(const BlockProblem &problem,
                                          bool absorb);
  Result<schedule::BucketedProblem> predict(const BlockProblem &problem);
  schedule::Order drawOrder(const schedule::BucketedProblem &program);
  LogicalResult checkAbsorbed(const BlockProblem &problem,
                              const schedule::BucketedProblem &program);
  void merge(const BlockProblem &problem,
             const schedule::BucketedProblem &program);
  LogicalResult compareOrder(const schedule::Order &order);
  LogicalResult compare(const schedule::Problem &predicted,
                        const schedule::Order &order);
  InFlightDiagnostic report(schedule::NodeId node);

  func::FuncOp function;
  Block &block;
  OperationCosts &costs;
  std::mt19937_64 random;
  schedule::Bucketing bucketing;
  /// By key of a bucket.
  SmallVector<BucketMode> modes;
  /// By bucket.
  SmallVector<SmallVector<Operation *>> absorbedCasts;
  /// By node of the merged program: what it has become, in the order of the
  /// block.
  std::vector<SmallVector<Operation *>> operations;
};

} // namespace mlir::commsched

#endif // COMMSCHED_TEST_LIB_BUCKETTRIAL_H
