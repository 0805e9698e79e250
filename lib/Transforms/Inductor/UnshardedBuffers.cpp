//===- UnshardedBuffers.cpp - Passes on unsharded buffers -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes commsched-reinplace-all-gather and
// commsched-remove-unsharded-param-usage. An analysis decides where to rewrite.
//===----------------------------------------------------------------------===//

#include "../PassSupport.h"
#include "CommSched/Analysis/Fsdp/UnshardedParams.h"
#include "CommSched/Analysis/Problem/StorageAnalysis.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Transforms/Passes.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_REINPLACEALLGATHER
#define GEN_PASS_DEF_REMOVEUNSHARDEDPARAMUSAGE
#include "CommSched/Transforms/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;
using bufferization::ToTensorOp;

//===----------------------------------------------------------------------===//
// Gathers that can be done in place
//===----------------------------------------------------------------------===//
//
// A copy-in packs this rank's shards into its slice of a buffer for all ranks.
// The gather of that slice may write the buffer instead of a second one if the
// difference cannot be observed: no other operation uses the buffer's storage
// once the gather has started.
//
//===----------------------------------------------------------------------===//

namespace {

/// A gather of a slice without `into`.
struct SliceGather {
  AllGatherOp gather;
  /// That of the slice; of the first of several.
  AllGatherCopyInOp copyIn;
  /// Why it cannot write the buffer of the copy-in; empty if it can.
  std::string obstacle;
};

/// The uses of the storage of copy-ins' buffers in one block.
class BufferUses {
public:
  BufferUses(Block &block, ArrayRef<SliceGather *> gathers);

  /// Returns why `gather` cannot write the buffer; nothing if it can.
  std::string check(const SliceGather &gather) const;

private:
  /// The operations of one object, as indices in the block, ascending.
  struct Object {
    SmallVector<int32_t> users;
    bool livesOn = false;
  };

  int32_t getObject(Value value) const {
    return storages.getStorages()[storages.getStorage(value)].object;
  }

  StorageAnalysis storages;
  SmallVector<Operation *> operations;
  /// By the object's index among storages.
  DenseMap<int32_t, Object> objects;
  /// Of each gather and its wait in the block.
  DenseMap<Operation *, int32_t> indexOf;
};

} // namespace

BufferUses::BufferUses(Block &block, ArrayRef<SliceGather *> gathers)
    : storages(block) {
  for (SliceGather *gather : gathers) {
    objects.try_emplace(getObject(gather->copyIn.getBuffer()));
    indexOf[gather->gather] = -1;
  }
  for (const Storage &storage : storages.getStorages())
    if (auto it = objects.find(storage.object); it != objects.end())
      it->second.livesOn |= !storage.freed;
  for (Operation &op : getScheduledOperations(block)) {
    auto index = static_cast<int32_t>(operations.size());
    operations.push_back(&op);
    if (auto it = indexOf.find(&op); it != indexOf.end())
      it->second = index;
    for (int32_t storage : storages.getUses(index)) {
      auto it = objects.find(storages.getStorages()[storage].object);
      if (it != objects.end())
        it->second.users.push_back(index);
    }
  }
}

std::string BufferUses::check(const SliceGather &gather) const {
  constexpr const char *outside = "the buffer is used outside of the block";
  AllGatherCopyInOp copyIn = gather.copyIn;
  AllGatherOp start = gather.gather;
  int32_t index = getObject(copyIn.getBuffer());
  const Object &object = objects.at(index);
  if (storages.getStorages()[index].isMemory)
    return "a memref may reach the buffer";
  // Buffers in flight are used until the wait, also those of this gather.
  Operation *wait = start.getWait();
  if (!wait)
    return outside;
  const int32_t *later = llvm::upper_bound(object.users, indexOf.at(start));
  for (; later != object.users.end(); ++later)
    if (operations[*later] != wait)
      return describe(operations[*later]) + " uses the buffer later";
  return object.livesOn ? outside : "";
}

/// The copy-in whose slice `gather` sends, or the first of several; null if it
/// sends none.
static AllGatherCopyInOp getCopyIn(AllGatherOp gather) {
  for (Value input : gather.getInputs()) {
    auto copyIn = input.getDefiningOp<AllGatherCopyInOp>();
    if (copyIn && input == copyIn.getSlice())
      return copyIn;
  }
  return {};
}

/// The obstacle that follows from the two operations alone.
static std::string findOwnObstacle(AllGatherOp gather,
                                   AllGatherCopyInOp copyIn) {
  std::string text;
  llvm::raw_string_ostream os(text);
  Type delivered = gather.getFutureTypes().front();
  Type buffer = copyIn.getBuffer().getType();
  if (gather.getInputs().size() > 1)
    os << "it gathers other tensors along with the slice";
  else if (gather->getBlock() != copyIn->getBlock()) // It may run less often.
    os << "the slice is made in another block";
  else if (gather.getGroupAttr() != copyIn.getGroupAttr())
    os << "it gathers on " << gather.getGroupAttr()
       << ", but the slice is one for " << copyIn.getGroupAttr();
  else if (delivered != buffer)
    os << "it delivers a " << delivered << ", but the buffer is a " << buffer;
  return text;
}

/// The gathers of slices in all regions of `function`, those of each block in
/// program order. Linear in the operations of each block that has such a
/// gather, nested ones included.
static std::vector<SliceGather> findSliceGathers(func::FuncOp function) {
  std::vector<SliceGather> gathers;
  function.walk([&](AllGatherOp gather) {
    if (!gather.getInto().empty())
      return;
    if (AllGatherCopyInOp copyIn = getCopyIn(gather))
      gathers.push_back({gather, copyIn, findOwnObstacle(gather, copyIn)});
  });
  llvm::MapVector<Block *, SmallVector<SliceGather *>> blocks;
  for (SliceGather &gather : gathers)
    if (gather.obstacle.empty())
      blocks[gather.gather->getBlock()].push_back(&gather);
  for (auto &[block, candidates] : blocks) {
    BufferUses uses(*block, candidates);
    for (SliceGather *gather : candidates)
      gather->obstacle = uses.check(*gather);
  }
  return gathers;
}

//===----------------------------------------------------------------------===//
// commsched-reinplace-all-gather
//===----------------------------------------------------------------------===//

static void remarkGather(func::FuncOp function, const SliceGather &slice) {
  AllGatherOp gather = slice.gather;
  AllGatherCopyInOp copyIn = slice.copyIn;
  if (!slice.obstacle.empty()) {
    remark::missed(gather.getLoc(),
                   makeRemark("GatherKept", function.getSymName()))
        << (describe(gather) + " is not in place: " + slice.obstacle);
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
    : RewritingPass<
          mlir::commsched::impl::ReinplaceAllGatherBase<ReinplaceAllGather>> {
  FailureOr<bool> rewrite() override {
    func::FuncOp function = getOperation();
    bool changed = false;
    for (SliceGather &slice : findSliceGathers(function)) {
      if (areRemarksEnabled(function))
        remarkGather(function, slice);
      if (!slice.obstacle.empty())
        continue;
      slice.gather.getIntoMutable().assign(slice.copyIn.getBuffer());
      changed = true;
    }
    return changed;
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

// Each pattern matches an operation at most once, so that one walk over a
// function applies them all.

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
    patterns.add<ForwardCopiedTensor, EraseStorageChange<FsdpCopyOp>,
                 EraseStorageChange<ResizeStorageOp>>(&getContext(), *params);
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
