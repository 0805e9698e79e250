//===- TestFsdp.cpp - Passes that test the analyses of FSDP ---------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rewrites that passes for buckets offer as options, each by itself.
//
//===----------------------------------------------------------------------===//

#include "Bucketing/DeduplicateGathers.h"
#include "Bucketing/SumBeforeReduceScatter.h"
#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "PassSupport.h"
#include "TestPasses.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace mlir::commsched;

namespace {

struct TestSumBeforeReduceScatter
    : PassWrapper<TestSumBeforeReduceScatter, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestSumBeforeReduceScatter)

  StringRef getArgument() const final {
    return "test-sum-before-reduce-scatter";
  }
  StringRef getDescription() const final {
    return "Reduces sums instead of summing up what was reduced";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<linalg::LinalgDialect, tensor::TensorDialect>();
  }
  void runOnOperation() override {
    if (!sumBeforeReduceScatter(getOperation()))
      markAllAnalysesPreserved();
  }
};

struct TestDeduplicateGathers
    : PassWrapper<TestDeduplicateGathers, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestDeduplicateGathers)

  TestDeduplicateGathers() = default;
  TestDeduplicateGathers(const TestDeduplicateGathers &other)
      : PassWrapper(other) {}

  StringRef getArgument() const final { return "test-deduplicate-gathers"; }
  StringRef getDescription() const final {
    return "Drops gathers that deliver what an earlier one has delivered";
  }
  void runOnOperation() override;

  Option<int64_t> limitBytes{
      *this, "limit-bytes",
      llvm::cl::desc("Live bytes; -1: the peak of the block"),
      llvm::cl::init(-1)};
};

} // namespace

void TestDeduplicateGathers::runOnOperation() {
  func::FuncOp function = getOperation();
  OperationCosts *costs = getAnalysis<CostAnalysis>().getCosts();
  if (!costs)
    return signalPassFailure();
  std::optional<int64_t> limit;
  if (limitBytes >= 0)
    limit = limitBytes;
  for (Block *block : getBlocksWithCollectives(function))
    if (failed(deduplicateGathers(function, *block, FsdpAnalysis(*block),
                                  *costs, limit)))
      return signalPassFailure();
}

void mlir::commsched_test::registerFsdpTestPasses() {
  PassRegistration<TestDeduplicateGathers>();
  PassRegistration<TestSumBeforeReduceScatter>();
}
