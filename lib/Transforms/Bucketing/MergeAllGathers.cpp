//===- MergeAllGathers.cpp - One gather of a packed buffer ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Dialect/CommSchedDialect.h"
#include "MergeKinds.h"
#include "MergedAttributes.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::commsched;

namespace {

/// How the copy-out gives what one member delivers.
struct GatheredPart {
  explicit GatheredPart(const MergeMember &member);

  /// What the copy-out joins the shards to.
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

MergedOperations mlir::commsched::mergeAllGathers(RewriterBase &rewriter,
                                                  const MergeMembers &bucket,
                                                  bool multiDtype) {
  SmallVector<Value> sources;
  SmallVector<Operation *> copied = bucket.starts;
  SmallVector<Type> sent, elements, unpacked;
  SmallVector<GatheredPart> parts;
  int64_t count = 0;
  for (const MergeMember &member : bucket.members) {
    sources.push_back(member.getSource());
    if (member.absorbedCast)
      copied.push_back(member.absorbedCast);
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

  MergedOperations result;
  rewriter.setInsertionPoint(bucket.starts.back());
  auto copyIn = AllGatherCopyInOp::create(
      rewriter, fuseLocations(copied), slice, buffer, sources, group, packed);
  setMergedAttributes(copyIn, bucket.starts, ".copy_in");
  result.start = AllGatherOp::create(
      rewriter, fuseLocations(bucket.starts),
      FutureType::get(rewriter.getContext(), buffer), copyIn.getSlice(), group,
      rewriter.getI64IntegerAttr(0), copyIn.getBuffer());

  rewriter.setInsertionPoint(bucket.waits.front());
  Location location = fuseLocations(bucket.waits);
  result.wait =
      cast<CollectiveOpInterface>(result.start).createWait(rewriter, location);
  auto copyOut = SplitWithSizesCopyOp::create(rewriter, location, unpacked,
                                              result.wait->getResult(0), group);
  setMergedAttributes(copyOut, bucket.starts, ".copy_out");
  for (auto [member, part, value] :
       llvm::zip_equal(bucket.members, parts, copyOut.getOutputs())) {
    Value whole = value;
    Location own = member.wait->getLoc();
    if (part.rowSize != 0)
      whole =
          flatten(rewriter, own, interleaveRows(rewriter, member.wait, whole));
    if (whole.getType() != member.getDeliveredType())
      whole = unflatten(rewriter, own, whole, member.getDeliveredType());
    result.values.push_back(whole);
  }
  return result;
}
