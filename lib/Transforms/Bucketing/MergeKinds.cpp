//===- MergeKinds.cpp - Merged operations by kind of collective -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "MergeCollectives.h"

#include "CommSched/Analysis/Costs/BucketCosts.h"
#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::commsched;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

Location mlir::commsched::fuseLocations(ArrayRef<Operation *> members) {
  SmallVector<Location> locations;
  for (Operation *member : members)
    locations.push_back(member->getLoc());
  return FusedLoc::get(members.front()->getContext(), locations);
}

/// The longest path that both begin with, in whole components.
static StringRef getCommonPath(StringRef path, StringRef other) {
  size_t end = 0;
  for (size_t index = 0; index <= path.size(); ++index) {
    bool isEnd = index == path.size();
    bool isOtherEnd = index == other.size();
    if ((isEnd || path[index] == '.') && (isOtherEnd || other[index] == '.'))
      end = index;
    if (isEnd || isOtherEnd || path[index] != other[index])
      break;
  }
  return path.take_front(end);
}

static StringRef getModule(Operation *op) {
  auto module = op->getAttrOfType<StringAttr>(moduleAttrName);
  return module ? module.getValue() : StringRef();
}

/// The attribute of that name if all `members` have the same.
static Attribute getCommonAttribute(ArrayRef<Operation *> members,
                                    StringRef name) {
  Attribute common = members.front()->getDiscardableAttr(name);
  bool isCommon = llvm::all_of(members, [&](Operation *member) {
    return member->getDiscardableAttr(name) == common;
  });
  return isCommon ? common : Attribute();
}

void mlir::commsched::setMergedAttributes(Operation *merged,
                                          ArrayRef<Operation *> members,
                                          StringRef suffix) {
  Builder builder(merged->getContext());
  SmallVector<StringRef> names;
  StringRef module = getModule(members.front());
  for (Operation *member : members) {
    if (StringRef name = getStableName(member); !name.empty())
      names.push_back(name);
    module = getCommonPath(module, getModule(member));
  }
  if (!names.empty())
    merged->setDiscardableAttr(
        nameAttrName, builder.getStringAttr(llvm::join(names, "+") + suffix));
  if (members.size() > 1 || !suffix.empty())
    setOrigin(merged, members);
  if (!module.empty())
    merged->setDiscardableAttr(moduleAttrName, builder.getStringAttr(module));
  for (StringRef name : {partitionAttrName, recomputeAttrName})
    if (Attribute common = getCommonAttribute(members, name))
      merged->setDiscardableAttr(name, common);
}

/// The location of what packs what the members send.
static Location getCopyInLocation(const MergeMembers &bucket) {
  SmallVector<Operation *> copied = bucket.starts;
  for (const MergeMember &member : bucket.members)
    if (member.absorbedCast)
      copied.push_back(member.absorbedCast);
  return fuseLocations(copied);
}

/// Creates the wait of the merged start.
static void createMergedWait(RewriterBase &rewriter, const MergeMembers &bucket,
                             MergedCollective &merged) {
  rewriter.setInsertionPoint(bucket.waits.front());
  merged.wait = cast<CollectiveOpInterface>(merged.start)
                    .createWait(rewriter, fuseLocations(bucket.waits));
}

/// States by how many kernels a copy is carried out, if not by one.
static void setKernels(Operation *copy, int64_t kernels) {
  if (kernels == 1)
    return;
  OpBuilder builder(copy->getContext());
  copy->setDiscardableAttr(kernelsAttrName, builder.getI64IntegerAttr(kernels));
}

/// As setMergedAttributes(), of what packs what the members of `bucket` send.
static void setCopyInAttributes(Operation *copyIn, const MergeMembers &bucket) {
  setMergedAttributes(copyIn, bucket.starts, ".copy_in");
  setOriginOfParts(
      copyIn,
      llvm::map_to_vector(bucket.members, [](const MergeMember &member) {
        SmallVector<Operation *, 2> parts = {member.start};
        if (member.absorbedCast)
          parts.push_back(member.absorbedCast);
        return parts;
      }));
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// Views of `flat`, in which what the members are delivered lies one after the
/// other.
static SmallVector<Value> viewDelivered(OpBuilder &builder, Value flat,
                                        ArrayRef<MergeMember> members) {
  SmallVector<Value> values;
  int64_t offset = 0;
  for (const MergeMember &member : members) {
    RankedTensorType type = member.getDeliveredType();
    Location location = member.wait->getLoc();
    int64_t size = type.getNumElements();
    Value slice = tensor::ExtractSliceOp::create(
        builder, location, flat, {builder.getIndexAttr(offset)},
        {builder.getIndexAttr(size)}, {builder.getIndexAttr(1)});
    values.push_back(reshapeFlat(builder, location, slice, type));
    offset += size;
  }
  return values;
}

//===----------------------------------------------------------------------===//
// All-gathers
//===----------------------------------------------------------------------===//

namespace {

/// The part of the copy-out that produces the result of one member.
struct GatheredPart {
  explicit GatheredPart(const MergeMember &member);

  /// The type of the joined shards in the copy-out.
  RankedTensorType unpacked;
  /// Elements of a shard per index of the dimensions before that of the
  /// gather; 0 if these have one index.
  int64_t rowSize = 0;
};

} // namespace

GatheredPart::GatheredPart(const MergeMember &member) {
  int64_t dim = cast<AllGatherOp>(member.start).getDim();
  RankedTensorType sent = member.getSentType();
  unpacked = member.getDeliveredType();
  if (dim == 0)
    return;
  Type element = unpacked.getElementType();
  int64_t rows = ShapedType::getNumElements(sent.getShape().take_front(dim));
  // Behind dimensions of size 1, the shards lie as those of dimension 0 do.
  if (rows == 1) {
    unpacked = RankedTensorType::get(unpacked.getNumElements(), element);
    return;
  }
  rowSize = sent.getNumElements() / rows;
  int64_t ranks = unpacked.getNumElements() / sent.getNumElements();
  unpacked = RankedTensorType::get({ranks, rows, rowSize}, element);
}

/// Makes of rank x row x element what the gather along another dimension than
/// the first delivers, in which the rows of all ranks lie side by side.
static Value interleaveRows(RewriterBase &rewriter, Operation *wait,
                            Value unpacked) {
  auto type = cast<RankedTensorType>(unpacked.getType());
  Location location = wait->getLoc();
  ArrayRef<int64_t> shape = type.getShape();
  Value empty = tensor::EmptyOp::create(rewriter, location,
                                        ArrayRef{shape[1], shape[0], shape[2]},
                                        type.getElementType());
  auto transpose = linalg::TransposeOp::create(
      rewriter, location, unpacked, empty, ArrayRef<int64_t>{1, 0, 2});
  setMergedAttributes(transpose, wait, ".transpose");
  return transpose->getResult(0);
}

MergedCollective mlir::commsched::mergeAllGathers(RewriterBase &rewriter,
                                                  const MergeMembers &bucket,
                                                  bool multiDtype) {
  SmallVector<Value> sources;
  SmallVector<Type> sent, elements, unpacked;
  SmallVector<GatheredPart> parts;
  int64_t count = 0;
  for (const MergeMember &member : bucket.members) {
    sources.push_back(member.getSource());
    sent.push_back(member.getSentType());
    elements.push_back(member.getSentType().getElementType());
    count += member.getSentType().getNumElements();
    parts.emplace_back(member);
    unpacked.push_back(parts.back().unpacked);
  }
  Type element = elements.front();
  ArrayAttr packed;
  if (multiDtype && !llvm::all_equal(elements)) {
    packed = rewriter.getTypeArrayAttr(elements);
    element = rewriter.getI8Type();
    count = *getStaticBytes(TypeRange(sent));
  }
  const MergeMember &first = bucket.members.front();
  FlatSymbolRefAttr group = cast<AllGatherOp>(first.start).getGroupAttr();
  int64_t ranks = first.getDeliveredType().getNumElements() /
                  first.getSentType().getNumElements();
  auto slice = RankedTensorType::get(count, element);
  auto buffer = RankedTensorType::get(count * ranks, element);

  MergedCollective result;
  rewriter.setInsertionPoint(bucket.starts.back());
  auto copyIn =
      AllGatherCopyInOp::create(rewriter, getCopyInLocation(bucket), slice,
                                buffer, sources, group, packed);
  setCopyInAttributes(copyIn, bucket);
  result.start = AllGatherOp::create(
      rewriter, fuseLocations(bucket.starts),
      FutureType::get(rewriter.getContext(), buffer), copyIn.getSlice(), group,
      rewriter.getI64IntegerAttr(0), copyIn.getBuffer());

  createMergedWait(rewriter, bucket, result);
  auto copyOut =
      SplitWithSizesCopyOp::create(rewriter, result.wait->getLoc(), unpacked,
                                   result.wait->getResult(0), group);
  setMergedAttributes(copyOut, bucket.starts, ".copy_out");
  setKernels(copyOut, getCopyOutKernels(first.start, bucket.members.size()));
  for (auto [member, part, value] :
       llvm::zip_equal(bucket.members, parts, copyOut.getOutputs())) {
    Value whole = value;
    Location own = member.wait->getLoc();
    if (part.rowSize != 0)
      whole =
          flatten(rewriter, own, interleaveRows(rewriter, member.wait, whole));
    if (whole.getType() != member.getDeliveredType())
      whole = reshapeFlat(rewriter, own, whole, member.getDeliveredType());
    result.values.push_back(whole);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Reduce-scatters
//===----------------------------------------------------------------------===//

MergedCollective
mlir::commsched::mergeReduceScatters(RewriterBase &rewriter,
                                     const MergeMembers &bucket) {
  MergedCollective result;
  auto first = cast<ReduceScatterOp>(bucket.starts.front());
  Type element = bucket.members.front().getDeliveredType().getElementType();
  rewriter.setInsertionPoint(bucket.starts.back());
  SmallVector<Value> sources;
  int64_t sent = 0, delivered = 0;
  for (const MergeMember &member : bucket.members) {
    auto op = cast<ReduceScatterOp>(member.start);
    // Behind dimensions of size 1, the chunks lie as those of dimension 0 do.
    sources.push_back(op.getDim() == 0
                          ? member.getSource()
                          : flatten(rewriter, op.getLoc(), member.getSource()));
    sent += member.getSentType().getNumElements();
    delivered += member.getDeliveredType().getNumElements();
  }
  auto copyIn = ChunkCatOp::create(rewriter, getCopyInLocation(bucket),
                                   RankedTensorType::get(sent, element),
                                   sources, first.getGroupAttr());
  setCopyInAttributes(copyIn, bucket);
  bool absorbsCasts = bucket.members.front().absorbedCast != nullptr;
  setKernels(copyIn, getCopyInKernels(first, absorbsCasts));
  auto future = FutureType::get(rewriter.getContext(),
                                RankedTensorType::get(delivered, element));
  result.start = ReduceScatterOp::create(
      rewriter, fuseLocations(bucket.starts), future, copyIn.getOutput(),
      first.getGroupAttr(), first.getReductionAttr(),
      rewriter.getI64IntegerAttr(0),
      /*into=*/ValueRange());

  createMergedWait(rewriter, bucket, result);
  result.values =
      viewDelivered(rewriter, result.wait->getResult(0), bucket.members);
  return result;
}

//===----------------------------------------------------------------------===//
// All-reduces, broadcasts and permutes
//===----------------------------------------------------------------------===//

MergedCollective mlir::commsched::mergeElementWise(RewriterBase &rewriter,
                                                   const MergeMembers &bucket) {
  MergedCollective result;
  rewriter.setInsertionPoint(bucket.starts.back());
  SmallVector<Value> flat;
  for (const MergeMember &member : bucket.members)
    flat.push_back(
        flatten(rewriter, member.start->getLoc(), member.getSource()));
  Location location = fuseLocations(bucket.starts);
  auto copyIn = tensor::ConcatOp::create(rewriter, location, /*dim=*/0, flat);
  setCopyInAttributes(copyIn, bucket);
  result.start = cast<CollectiveOpInterface>(bucket.starts.front())
                     .createMergedStart(rewriter, location, copyIn.getResult(),
                                        copyIn.getResultType());

  createMergedWait(rewriter, bucket, result);
  result.values =
      viewDelivered(rewriter, result.wait->getResult(0), bucket.members);
  return result;
}

//===----------------------------------------------------------------------===//
// Coalesced launches
//===----------------------------------------------------------------------===//

MergedCollective
mlir::commsched::coalesceCollectives(RewriterBase &rewriter,
                                     const MergeMembers &bucket) {
  SmallVector<Value> sent;
  SmallVector<Type> delivered;
  for (const MergeMember &member : bucket.members) {
    sent.push_back(member.sent);
    delivered.push_back(member.delivered);
  }
  MergedCollective result;
  rewriter.setInsertionPoint(bucket.starts.back());
  result.start = cast<CollectiveOpInterface>(bucket.starts.front())
                     .createMergedStart(rewriter, fuseLocations(bucket.starts),
                                        sent, delivered);
  createMergedWait(rewriter, bucket, result);
  result.values = llvm::to_vector_of<Value>(result.wait->getResults());
  return result;
}
