//===- FsdpPatterns.cpp - Rewrites of FSDP's buffers ----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FsdpPatterns.h"

using namespace mlir;
using namespace mlir::commsched;
using bufferization::ToTensorOp;

namespace {

struct WriteCopyInBuffer : OpRewritePattern<AllGatherOp> {
  WriteCopyInBuffer(MLIRContext *context, const ReinplaceableGathers &gathers)
      : OpRewritePattern(context), gathers(gathers) {}

  LogicalResult matchAndRewrite(AllGatherOp gather,
                                PatternRewriter &rewriter) const override {
    Value buffer = gathers.getBuffer(gather);
    if (!buffer)
      return failure();
    rewriter.modifyOpInPlace(gather,
                             [&] { gather.getIntoMutable().assign(buffer); });
    return success();
  }

private:
  const ReinplaceableGathers &gathers;
};

struct ForwardCopiedTensor : OpRewritePattern<ToTensorOp> {
  ForwardCopiedTensor(MLIRContext *context, const UnshardedParams &params)
      : OpRewritePattern(context), params(params) {}

  LogicalResult matchAndRewrite(ToTensorOp read,
                                PatternRewriter &rewriter) const override {
    if (!params.isRemovable(read.getBuffer()))
      return failure();
    if (read->use_empty())
      rewriter.eraseOp(read);
    else
      rewriter.replaceOp(read, params.getContents(read));
    return success();
  }

private:
  const UnshardedParams &params;
};

/// Erases a resize or a copy of a storage that nobody needs.
template <typename Op> struct EraseStorageChange : OpRewritePattern<Op> {
  EraseStorageChange(MLIRContext *context, const UnshardedParams &params)
      : OpRewritePattern<Op>(context), params(params) {}

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    if (!params.isRemovable(op.getStorage()))
      return failure();
    rewriter.eraseOp(op);
    return success();
  }

private:
  const UnshardedParams &params;
};

} // namespace

void mlir::commsched::populateReinplaceAllGatherPatterns(
    RewritePatternSet &patterns, const ReinplaceableGathers &gathers) {
  patterns.add<WriteCopyInBuffer>(patterns.getContext(), gathers);
}

void mlir::commsched::populateRemoveUnshardedParamUsagePatterns(
    RewritePatternSet &patterns, const UnshardedParams &params) {
  patterns.add<ForwardCopiedTensor, EraseStorageChange<FsdpCopyOp>,
               EraseStorageChange<ResizeStorageOp>>(patterns.getContext(),
                                                    params);
}
