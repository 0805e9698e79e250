//===- Mergeability.cpp - Collectives that may be merged ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Bucketing/Mergeability.h"

#include "CommSched/Analysis/Problem/Aliasing.h"
#include "CommSched/Analysis/Problem/CommunicationEffects.h"
#include "CommSched/Analysis/Problem/OperatorClasses.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// Operations that write in place
//===----------------------------------------------------------------------===//

/// Whether `result` is what a collective has written in place.
static bool isWrittenInPlace(OpResult result) {
  auto wait = dyn_cast<WaitOpInterface>(result.getOwner());
  auto start = wait
                   ? dyn_cast_if_present<CollectiveOpInterface>(wait.getStart())
                   : CollectiveOpInterface();
  return start && !start.getDestinations().empty();
}

/// The value that the storage of `value`, a tensor, was made for; null if that
/// is not known.
static Value findRoot(Value value) {
  while (isa<TensorType>(value.getType())) {
    auto result = dyn_cast<OpResult>(value);
    if (!result) {
      Block *block = cast<BlockArgument>(value).getOwner();
      bool isOfFunction = block->isEntryBlock() &&
                          isa<FunctionOpInterface>(block->getParentOp());
      return isOfFunction ? value : Value();
    }
    Value aliased = getAliasedValue(result);
    if (!aliased)
      return mayAliasUnknown(result) || isWrittenInPlace(result) ? Value()
                                                                 : value;
    value = aliased;
  }
  return {};
}

/// Whether `user`, an operation that has `value` as an operand, writes its
/// storage.
static bool writes(Operation *user, Value value) {
  if (auto collective = dyn_cast<CollectiveOpInterface>(user))
    return llvm::is_contained(collective.getDestinations(), value);
  // A callee may write its arguments in place.
  if (isa<CallOpInterface>(user) && hasUnknownMemoryEffects(user))
    return true;
  return llvm::any_of(getStatedEffects(user), [&](const auto &effect) {
    return effect.getValue() == value &&
           !isa<MemoryEffects::Read>(effect.getEffect());
  });
}

/// Whether `user` may create an alias of its operand that `getAliasedValue`
/// does not report.
static bool mayPassOn(Operation *user) {
  if (user->hasTrait<OpTrait::IsTerminator>())
    return !isa<FunctionOpInterface>(user->getParentOp());
  if (isa<CollectiveOpInterface>(user))
    return false;
  return llvm::any_of(user->getOpResults(), [](OpResult result) {
    return getTensorType(result.getType()) && !getAliasedValue(result) &&
           mayAliasUnknown(result);
  });
}

bool mlir::commsched::mayBeWrittenBetween(Value value, Operation *first,
                                          Operation *last) {
  Value root = findRoot(value);
  if (!root)
    return true;
  Block *block = first->getBlock();
  auto runsBeforeLast = [&](Operation *op) {
    Operation *ancestor = block->findAncestorOpInBlock(*op);
    return !ancestor || ancestor->isBeforeInBlock(last);
  };
  auto runsBetween = [&](Operation *op) {
    Operation *ancestor = block->findAncestorOpInBlock(*op);
    return ancestor && first->isBeforeInBlock(ancestor) &&
           ancestor->isBeforeInBlock(last);
  };
  llvm::SmallSetVector<Value, 4> views;
  views.insert(root);
  for (size_t index = 0; index < views.size(); ++index) {
    Value view = views[index];
    for (Operation *user : view.getUsers()) {
      if (mayPassOn(user) && runsBeforeLast(user))
        return true;
      if (writes(user, view) && runsBetween(user))
        return true;
      for (OpResult result : user->getOpResults())
        if (getAliasedValue(result) == view)
          views.insert(result);
    }
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Casts that a copy-in absorbs
//===----------------------------------------------------------------------===//

static bool widens(Operation *cast) {
  return getElementTypeOrSelf(cast->getOperand(0)).getIntOrFloatBitWidth() <
         getElementTypeOrSelf(cast->getResult(0)).getIntOrFloatBitWidth();
}

/// The cast that makes what `start` sends, if a copy-in that stands directly
/// before `last`, which is `start` or comes after it in the same block, can
/// take the cast's operand instead; otherwise null. Linear in the uses of that
/// operand and what it is a view of.
static Operation *getAbsorbedCast(CollectiveOpInterface start,
                                  Operation *last) {
  Operation *cast = start.getSentValues().front().getDefiningOp();
  if (!cast || cast->getBlock() != start->getBlock() || !cast->hasOneUse() ||
      !isCast(cast))
    return nullptr;
  CollectiveKind kind = start.getCollectiveKind();
  bool converts =
      (kind == CollectiveKind::AllGather && !hasSeparateCopies(start)) ||
      (kind == CollectiveKind::ReduceScatter && widens(cast));
  if (!converts || mayBeWrittenBetween(cast->getOperand(0), cast, last))
    return nullptr;
  return cast;
}

//===----------------------------------------------------------------------===//
// Mergeable collectives
//===----------------------------------------------------------------------===//

/// Whether each delivered element depends only on the elements at its place, so
/// that tensors may be concatenated in any shape.
static bool isElementWise(CollectiveKind kind) {
  return kind == CollectiveKind::AllReduce ||
         kind == CollectiveKind::Broadcast || kind == CollectiveKind::Permute;
}

bool mlir::commsched::isBucket(CollectiveOpInterface collective) {
  if (collective.getSentValues().empty())
    return false;
  if (collective.getSentValues().size() > 1)
    return true;
  Operation *producer = collective.getSentValues().front().getDefiningOp();
  if (isa_and_present<AllGatherCopyInOp, ChunkCatOp>(producer))
    return true;
  // These deliver element by element what they are sent, so nothing but a
  // bucket would join flat tensors for them.
  auto concat = dyn_cast_if_present<tensor::ConcatOp>(producer);
  return isElementWise(collective.getCollectiveKind()) && concat &&
         concat.getResultType().getRank() == 1;
}

static bool isBucketed(CollectiveKind kind) {
  return kind != CollectiveKind::Send && kind != CollectiveKind::Recv &&
         kind != CollectiveKind::Barrier && !isHostTransfer(kind);
}

/// The reasons that apply to both modes.
static std::optional<std::string>
getCommonReason(CollectiveOpInterface collective) {
  CollectiveKind kind = collective.getCollectiveKind();
  if (!collective.getInFlightFuture())
    return "it is blocking";
  if (isHalfOfPair(collective))
    return "it is in flight across the boundary of its block";
  if (!isBucketed(kind))
    return ("no " + stringifyCollectiveKind(kind) + " is ever merged").str();
  if (!collective.getBucketKey())
    return "it has no bucket key";
  // Merging would undo what splitting gained.
  if (collective->hasAttr(chunkAttrName))
    return "it is a chunk";
  SmallVector<Type> delivered = collective.getDeliveredTypes();
  if (collective.getSentValues().empty() || delivered.empty())
    return "it transfers nothing";
  // A bucket of gathers is written in place as well.
  if (isBucket(collective))
    return "it is a bucket already";
  if (!collective.getDestinations().empty())
    return "it is written in place";
  if (delivered.size() != 1 || collective.getWait()->getNumResults() != 1)
    return "it delivers several values";
  auto isDynamic = [](Type type) {
    ShapedType shaped = getTensorType(type);
    return shaped && !shaped.hasStaticShape();
  };
  if (isDynamic(collective.getSentValues().front().getType()) ||
      isDynamic(delivered.front()))
    return "it has a dynamic shape";
  if (!collective.getOperandBytes() || !collective.getResultBytes())
    return "its size in bytes is not known";
  return std::nullopt;
}

/// Why the tensors that `collective` sends and delivers cannot lie in a buffer.
static std::optional<std::string>
getBufferReason(CollectiveOpInterface collective) {
  for (Type type : {collective.getSentValues().front().getType(),
                    collective.getDeliveredTypes().front()}) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      return "it transfers what is no tensor";
    if (tensor.getEncoding())
      return "the encoding of its tensors would be lost in a buffer";
    if (tensor.getNumElements() == 0)
      return "its tensors are empty";
  }
  return std::nullopt;
}

static std::optional<std::string>
getCopyReason(CollectiveOpInterface collective) {
  if (std::optional<std::string> reason = getBufferReason(collective))
    return reason;
  Operation *op = collective;
  if (auto scatter = dyn_cast<ReduceScatterOp>(op)) {
    int64_t dim = scatter.getDim();
    auto sent = cast<RankedTensorType>(scatter.getInputs().front().getType());
    if (ShapedType::getNumElements(sent.getShape().take_front(dim)) != 1)
      return "it scatters along dimension " + std::to_string(dim) +
             ", whose chunks do not lie one after the other";
    return std::nullopt;
  }
  if (isa<AllGatherOp>(op))
    return std::nullopt;
  if (!isElementWise(collective.getCollectiveKind()))
    return ("there is no copy-in for '" + op->getName().getStringRef() + "'")
        .str();
  if (collective.getSentValues().front().getType() !=
      collective.getDeliveredTypes().front())
    return "it delivers another type than it sends";
  return std::nullopt;
}

std::optional<std::string>
mlir::commsched::getUnmergeableReason(CollectiveOpInterface collective,
                                      BucketMode mode) {
  if (std::optional<std::string> reason = getCommonReason(collective))
    return reason;
  if (!collective.isMergeable())
    return ("'" + collective->getName().getStringRef() +
            "' does not say how it is merged")
        .str();
  return mode == BucketMode::Copy ? getCopyReason(collective) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Compatibility of members
//===----------------------------------------------------------------------===//

/// The bucket key of a gather without the element types.
static Attribute leaveOutElementTypes(Attribute key) {
  auto parts = dyn_cast<ArrayAttr>(key);
  if (!parts)
    return key;
  SmallVector<Attribute> kept;
  llvm::copy_if(parts, std::back_inserter(kept),
                [](Attribute part) { return !isa<TypeAttr>(part); });
  return ArrayAttr::get(key.getContext(), kept);
}

/// The dimension along which an operation of this dialect gathers or scatters.
static IntegerAttr getDimension(Operation *op) {
  if (auto gather = dyn_cast<AllGatherOp>(op))
    return gather.getDimAttr();
  if (auto scatter = dyn_cast<ReduceScatterOp>(op))
    return scatter.getDimAttr();
  return {};
}

Attribute mlir::commsched::getMergeKey(CollectiveOpInterface collective,
                                       BucketMode mode, bool multiDtype) {
  bool isCopied = mode == BucketMode::Copy;
  Attribute bucketKey = collective.getBucketKey();
  if (isCopied && multiDtype && isa<AllGatherOp>(collective.getOperation()))
    bucketKey = leaveOutElementTypes(bucketKey);
  NamedAttrList key;
  key.set("bucket_key", bucketKey);
  // A merged start does for all members what the first one does.
  key.set("operation", collective->getName().getIdentifier());
  // One launch has one dimension. A buffer holds those of any.
  if (IntegerAttr dim = getDimension(collective); dim && !isCopied)
    key.set("dim", dim);
  for (StringRef name : {partitionAttrName, recomputeAttrName})
    if (Attribute attr = collective->getDiscardableAttr(name))
      key.set(name, attr);
  return key.getDictionary(collective->getContext());
}

/// What `cast` does, whatever the shape.
static std::pair<StringRef, Type> getConversion(Operation *cast) {
  auto compute = dyn_cast<ComputeOp>(cast);
  return {compute ? compute.getCallee() : cast->getName().getStringRef(),
          getElementTypeOrSelf(cast->getOperand(0))};
}

SmallVector<Operation *>
mlir::commsched::getAbsorbedCasts(ArrayRef<CollectiveOpInterface> members,
                                  BucketMode mode) {
  SmallVector<Operation *> casts;
  if (mode == BucketMode::Copy)
    for (CollectiveOpInterface member : members)
      if (Operation *cast = getAbsorbedCast(member, members.back()))
        casts.push_back(cast);
  // One kernel converts all that is packed, or none.
  if (hasSeparateCopies(members.front()) &&
      (casts.size() != members.size() ||
       !llvm::all_equal(llvm::map_range(casts, getConversion))))
    casts.clear();
  return casts;
}
