//===- UnshardedBuffers.cpp - Passes on unsharded buffers -----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The passes commsched-reinplace-all-gather and
// commsched-remove-unsharded-param-usage. An analysis decides where to rewrite.
// Each pattern matches an operation at most once, so that one walk over a
// function applies them all.
//
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "CommSched/Analysis/Fsdp/ReinplaceableGathers.h"
#include "CommSched/Analysis/Fsdp/UnshardedParams.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Transforms/Passes.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_REINPLACEALLGATHER
#define GEN_PASS_DEF_REMOVEUNSHARDEDPARAMUSAGE
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;
using bufferization::ToTensorOp;

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

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

/// Erases a resize or a copy of a removable storage.
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

/// Lets a gather of a slice write the buffer of the slice where `gathers`,
/// which outlives the patterns, allows it.
static void
populateReinplaceAllGatherPatterns(RewritePatternSet &patterns,
                                   const ReinplaceableGathers &gathers) {
  patterns.add<WriteCopyInBuffer>(patterns.getContext(), gathers);
}

/// Replaces reads of removable storages by what they yield, and erases what
/// resizes and fills these. `params` outlives the patterns.
static void
populateRemoveUnshardedParamUsagePatterns(RewritePatternSet &patterns,
                                          const UnshardedParams &params) {
  patterns.add<ForwardCopiedTensor, EraseStorageChange<FsdpCopyOp>,
               EraseStorageChange<ResizeStorageOp>>(patterns.getContext(),
                                                    params);
}

//===----------------------------------------------------------------------===//
// commsched-reinplace-all-gather
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// commsched-remove-unsharded-param-usage
//===----------------------------------------------------------------------===//

/// Why the storage stays.
static std::string explain(const UnshardedParam &param) {
  std::string op = describe(param.op);
  switch (param.obstacle) {
  case ParamObstacle::None:
    break;
  case ParamObstacle::NoArgument:
    return "it is no argument of the function";
  case ParamObstacle::OtherBlock:
    return op + " is not in the first block of the function";
  case ParamObstacle::ResizedView:
    return op + " works on a view of it";
  case ParamObstacle::NeverResized:
    return "it is filled, but never freed";
  case ParamObstacle::UnequalResizes:
    return ("it is grown " + Twine(param.numGrown) + " time(s), but freed " +
            Twine(param.numFreed))
        .str();
  case ParamObstacle::ResizeOrder:
    return "it is not grown and freed in turns";
  case ParamObstacle::MemrefRead:
    return op + " reads the memref itself";
  case ParamObstacle::Viewed:
    return op + " makes a view of it";
  case ParamObstacle::PassedOn:
    return op + " may pass it on";
  case ParamObstacle::CopiedOn:
    return op + " copies from it into a parameter";
  case ParamObstacle::CopiedFrom:
    return op + " copies from a parameter";
  case ParamObstacle::UsedLater:
    return op + " uses what was read of it before " + describe(param.other);
  case ParamObstacle::OtherType:
    return op + " yields another type than what was copied into it";
  case ParamObstacle::SourceWritten:
    return op + " may write what " + describe(param.other) +
           " copied into it, before the last use of the copy";
  }
  llvm_unreachable("nothing in the way");
}

static void remarkParam(func::FuncOp function, const UnshardedParam &param) {
  std::string name = param.name.empty() ? "the memref" : "'" + param.name + "'";
  if (param.obstacle != ParamObstacle::None) {
    remark::missed(param.op->getLoc(),
                   makeRemark("ParameterKept", function.getSymName()))
        << (name + " keeps its storage: " + explain(param));
    return;
  }
  remark::passed(param.op->getLoc(),
                 makeRemark("ParameterRemoved", function.getSymName()))
      << (name + " needs no storage: what reads it takes what was copied into "
                 "it")
      << remark::metric("Resizes", param.numGrown + param.numFreed)
      << remark::metric("Copies", param.numCopies)
      << remark::metric("Reads", param.numReads);
}

namespace {

struct RemoveUnshardedParamUsage
    : mlir::commsched::impl::RemoveUnshardedParamUsageBase<
          RemoveUnshardedParamUsage> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    FailureOr<UnshardedParams> params = UnshardedParams::create(function);
    if (failed(params))
      return signalPassFailure();
    if (areRemarksEnabled(function))
      for (const UnshardedParam &param : params->getParams())
        remarkParam(function, param);
    if (!params->hasRemovable())
      return markAllAnalysesPreserved();
    RewritePatternSet patterns(&getContext());
    populateRemoveUnshardedParamUsagePatterns(patterns, *params);
    walkAndApplyPatterns(function, std::move(patterns));
    setRoles(*params);
  }

private:
  /// Says of arguments that nothing uses any more what they are, so that they
  /// are known to have no storage.
  void setRoles(const UnshardedParams &params);
};

} // namespace

void RemoveUnshardedParamUsage::setRoles(const UnshardedParams &params) {
  func::FuncOp function = getOperation();
  auto role = StringAttr::get(&getContext(), unshardedParamRole);
  // All at once: setting one copies the attributes of all.
  SmallVector<DictionaryAttr> attributes;
  function.getAllArgAttrs(attributes);
  for (const UnshardedParam &param : params.getParams()) {
    if (!params.isRemovable(param.storage))
      continue;
    DictionaryAttr &dictionary =
        attributes[cast<BlockArgument>(param.storage).getArgNumber()];
    NamedAttrList list(dictionary);
    if (!list.get(roleAttrName))
      list.set(roleAttrName, role);
    dictionary = list.getDictionary(&getContext());
  }
  function.setAllArgAttrs(attributes);
}
