//===- TestMergeCollectives.cpp - Pass that merges adjacent collectives ---===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Calls mergeCollectives() on adjacent collectives, independently of the passes
// that decide which collectives to merge.
//
//===----------------------------------------------------------------------===//

#include "Bucketing/MergeCollectives.h"
#include "TestPasses.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace mlir::commsched;

namespace {

struct TestMergeCollectives
    : PassWrapper<TestMergeCollectives, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestMergeCollectives)

  TestMergeCollectives() = default;
  TestMergeCollectives(const TestMergeCollectives &other)
      : PassWrapper(other) {}

  StringRef getArgument() const final { return "test-merge-collectives"; }
  StringRef getDescription() const final {
    return "Merges collectives that stand directly one after the other, and "
           "whose waits do so as well; says in a remark why not";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<linalg::LinalgDialect, tensor::TensorDialect>();
  }
  void runOnOperation() override;

  Option<BucketMode> mode{
      *this, "mode", llvm::cl::desc("How members travel"),
      llvm::cl::init(BucketMode::Copy),
      llvm::cl::values(clEnumValN(BucketMode::Copy, "copy", "in one buffer"),
                       clEnumValN(BucketMode::Coalesced, "coalesced",
                                  "as operands of one start"))};
  Option<bool> multiDtype{*this, "multi-dtype",
                          llvm::cl::desc("Mix element types in gathers"),
                          llvm::cl::init(false)};
};

} // namespace

void TestMergeCollectives::runOnOperation() {
  SmallVector<SmallVector<CollectiveOpInterface>> buckets;
  Attribute lastKey;
  getOperation().walk([&](CollectiveOpInterface start) {
    if (std::optional<std::string> reason = getUnmergeableReason(start, mode)) {
      start->emitRemark(*reason);
      return;
    }
    Attribute key = getMergeKey(start, mode, multiDtype);
    bool isNext = !buckets.empty() && key == lastKey &&
                  buckets.back().back() == start->getPrevNode();
    if (!isNext)
      buckets.emplace_back();
    buckets.back().push_back(start);
    lastKey = key;
  });
  IRRewriter rewriter(&getContext());
  for (ArrayRef<CollectiveOpInterface> members : buckets)
    if (members.size() > 1)
      mergeCollectives(rewriter, members, mode, multiDtype);
}

void mlir::commsched_test::registerTestPasses() {
  PassRegistration<TestMergeCollectives>();
}
