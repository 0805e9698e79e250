//===- MergeChunksPass.cpp - Pass that puts chunks together ---------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "CommSched/Transforms/Passes.h"
#include "MergeChunks.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_MERGECHUNKS
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

namespace {

struct MergeChunks : mlir::commsched::impl::MergeChunksBase<MergeChunks> {
  void runOnOperation() override {
    bool isChanged = false;
    for (Block *block : getBlocksWithCollectives(getOperation())) {
      MergedChunks result = mergeChunks(*block);
      isChanged |= !result.merged.empty();
      if (areRemarksEnabled(getOperation()))
        remarkOn(result);
    }
    if (!isChanged)
      markAllAnalysesPreserved();
  }

private:
  void remarkOn(const MergedChunks &result) {
    StringRef function = getOperation().getSymName();
    for (Operation *op : result.merged)
      if (isa<CollectiveOpInterface>(op))
        remark::passed(op->getLoc(), makeRemark("ChunksMerged", function))
            << (describe(op) + ": put together");
    for (const UnmergedChunks &unmerged : result.unmerged)
      remark::missed(unmerged.chunk->getLoc(),
                     makeRemark("ChunksNotMerged", function))
          << (describe(unmerged.chunk) +
              ": not put together with the other chunks: " + unmerged.reason);
  }
};

} // namespace
