//===- BucketAllGather.cpp - The pass that merges gathers -----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../BlockScheduling.h"
#include "../Fsdp/DeduplicateGathers.h"
#include "BucketingPass.h"
#include "CommSched/Analysis/Costs/OperationCosts.h"
#include "CommSched/Analysis/Costs/ScanningSymbolTables.h"
#include "CommSched/Analysis/Costs/TargetSpec.h"
#include "CommSched/Analysis/Fsdp/FsdpAnalysis.h"
#include "CommSched/Transforms/Passes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_BUCKETALLGATHER
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

namespace {

struct BucketAllGather
    : BucketingPass<
          mlir::commsched::impl::BucketAllGatherBase<BucketAllGather>> {
  using BucketingPass::BucketingPass;

protected:
  cost::CollectiveKind getKind() const override {
    return cost::CollectiveKind::AllGather;
  }

  void readOwnOptions(BucketingPassOptions &options) override {
    options.multiDtype = multiDtype;
  }

  FailureOr<bool> prepare() override {
    if (!deduplicate)
      return false;
    FailureOr<cost::Target> target = getTarget(getOperation());
    if (failed(target))
      return failure();
    ScanningSymbolTables symbolTables;
    OperationCosts costs(*target, /*profile=*/nullptr, symbolTables);
    bool changed = false;
    for (Block *block : getBlocksWithCollectives(getOperation())) {
      FailureOr<bool> removed =
          deduplicateGathers(getOperation(), *block, FsdpAnalysis(*block),
                             costs, /*limitBytes=*/std::nullopt);
      if (failed(removed))
        return failure();
      changed |= *removed;
    }
    return changed;
  }
};

} // namespace
