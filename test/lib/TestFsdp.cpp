//===- TestFsdp.cpp - Rewrites of sharded parameters ----------------------===//
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

#include "Fsdp/SumBeforeReduceScatter.h"
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

} // namespace

void mlir::commsched_test::registerFsdpTestPasses() {
  PassRegistration<TestSumBeforeReduceScatter>();
}
