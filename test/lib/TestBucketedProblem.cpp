//===- TestBucketedProblem.cpp - Pass that tests predictions of merges ----===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Merges clones of functions in random ways that were predicted before.
//
//===----------------------------------------------------------------------===//

#include "BucketTrial.h"
#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "PassSupport.h"
#include "TestPasses.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace mlir::commsched;

namespace {

struct TestBucketedProblem
    : PassWrapper<TestBucketedProblem, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestBucketedProblem)

  TestBucketedProblem() = default;
  TestBucketedProblem(const TestBucketedProblem &other) : PassWrapper(other) {}

  StringRef getArgument() const final { return "test-bucketed-problem"; }
  StringRef getDescription() const final {
    return "Compares what merged programs take with what was predicted";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<linalg::LinalgDialect, tensor::TensorDialect>();
  }
  void runOnOperation() override;
  LogicalResult runOn(func::FuncOp function, uint64_t seed);

  Option<unsigned> seeds{*this, "seeds",
                         llvm::cl::desc("How many ways each function is tried"),
                         llvm::cl::init(4)};
  size_t numBuckets = 0;
  size_t numAbsorbed = 0;
};

} // namespace

LogicalResult TestBucketedProblem::runOn(func::FuncOp function, uint64_t seed) {
  CostAnalysis analysis(function);
  OperationCosts *costs = analysis.getCosts();
  if (!costs)
    return failure();
  for (Block *block : getBlocksWithCollectives(function)) {
    BucketTrial trial(function, *block, *costs, seed);
    if (failed(trial.run()))
      return failure();
    numBuckets += trial.getNumBuckets();
    numAbsorbed += trial.getNumAbsorbed();
  }
  return success();
}

void TestBucketedProblem::runOnOperation() {
  for (auto function :
       llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
    for (uint64_t seed = 0; seed < seeds; ++seed) {
      func::FuncOp clone = function.clone();
      clone.setName((function.getName() + "_merged").str());
      getOperation().insert(function, clone);
      LogicalResult result = runOn(clone, seed);
      clone.erase();
      if (failed(result)) {
        function.emitError("differs from what was predicted for seed ") << seed;
        return signalPassFailure();
      }
    }
  llvm::outs() << "// " << numBuckets << " buckets and " << numAbsorbed
               << " absorbed casts were as predicted\n";
}

void mlir::commsched_test::registerBucketTestPasses() {
  PassRegistration<TestBucketedProblem>();
}
