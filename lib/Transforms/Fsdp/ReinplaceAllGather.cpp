//===- ReinplaceAllGather.cpp - The pass that gathers in place ------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../Remarks.h"
#include "CommSched/Transforms/Passes.h"
#include "FsdpPatterns.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_REINPLACEALLGATHER
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;

/// Why the gather allocates what it delivers.
static std::string explain(const SliceGather &slice) {
  std::string text;
  llvm::raw_string_ostream os(text);
  AllGatherOp gather = slice.gather;
  AllGatherCopyInOp copyIn = slice.copyIn;
  switch (slice.obstacle) {
  case GatherObstacle::None:
    break;
  case GatherObstacle::Coalesced:
    return "it gathers other tensors along with the slice";
  case GatherObstacle::OtherBlock:
    return "the slice is made in another block";
  case GatherObstacle::OtherGroup:
    os << "it gathers on " << gather.getGroupAttr()
       << ", but the slice is one for " << copyIn.getGroupAttr();
    return text;
  case GatherObstacle::OtherType:
    os << "it delivers a " << gather.getFutureTypes().front()
       << ", but the buffer is a " << copyIn.getBuffer().getType();
    return text;
  case GatherObstacle::Memory:
    return "a memref may reach the buffer";
  case GatherObstacle::LivesOn:
    return "the buffer is used outside of the block";
  case GatherObstacle::UsedLater:
    return describe(slice.user) + " uses the buffer later";
  }
  llvm_unreachable("nothing in the way");
}

static void remarkGather(func::FuncOp function, const SliceGather &slice) {
  AllGatherOp gather = slice.gather;
  AllGatherCopyInOp copyIn = slice.copyIn;
  if (slice.obstacle != GatherObstacle::None) {
    remark::missed(gather.getLoc(),
                   makeRemark("GatherKept", function.getSymName()))
        << (describe(gather) + " is not in place: " + explain(slice));
    return;
  }
  remark::passed(gather.getLoc(),
                 makeRemark("GatherReinplaced", function.getSymName()))
      << (describe(gather) + " writes the buffer of " + describe(copyIn))
      << remark::metric(
             "Bytes", getStaticBytes(copyIn.getBuffer().getType()).value_or(0));
}

namespace {

struct ReinplaceAllGather
    : mlir::commsched::impl::ReinplaceAllGatherBase<ReinplaceAllGather> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    ReinplaceableGathers gathers(function);
    if (areRemarksEnabled(function))
      for (const SliceGather &slice : gathers.getSliceGathers())
        remarkGather(function, slice);
    if (gathers.empty())
      return markAllAnalysesPreserved();
    RewritePatternSet patterns(&getContext());
    populateReinplaceAllGatherPatterns(patterns, gathers);
    walkAndApplyPatterns(function, std::move(patterns));
  }
};

} // namespace
