//===- BucketReduceScatter.cpp - Merges reduce-scatters -------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Fsdp/SumBeforeReduceScatter.h"
#include "BucketingPass.h"
#include "CommSched/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_BUCKETREDUCESCATTER
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

namespace {

struct BucketReduceScatter
    : BucketingPass<
          mlir::commsched::impl::BucketReduceScatterBase<BucketReduceScatter>> {
  using BucketingPass::BucketingPass;

protected:
  cost::CollectiveKind getKind() const override {
    return cost::CollectiveKind::ReduceScatter;
  }

  void readOwnOptions(BucketingPassOptions &) override { isBitwise = bitwise; }

  FailureOr<bool> prepare() override {
    return sumFirst && sumBeforeReduceScatter(getOperation());
  }
};

} // namespace
