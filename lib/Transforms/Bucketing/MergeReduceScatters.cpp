//===- MergeReduceScatters.cpp - One reduce-scatter of a packed buffer ----===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Dialect/CommSchedDialect.h"
#include "MergeKinds.h"
#include "MergedAttributes.h"

using namespace mlir;
using namespace mlir::commsched;

MergedOperations
mlir::commsched::mergeReduceScatters(RewriterBase &rewriter,
                                     const MergeMembers &bucket) {
  MergedOperations result;
  auto first = cast<ReduceScatterOp>(bucket.starts.front());
  Type element = bucket.members.front().getDeliveredType().getElementType();
  rewriter.setInsertionPoint(bucket.starts.back());
  SmallVector<Value> sources;
  SmallVector<Operation *> copied = bucket.starts;
  int64_t sent = 0, delivered = 0;
  for (const MergeMember &member : bucket.members) {
    auto op = cast<ReduceScatterOp>(member.start);
    // Behind dimensions of size 1, the chunks lie as those of dimension 0 do.
    sources.push_back(op.getDim() == 0
                          ? member.getSource()
                          : flatten(rewriter, op.getLoc(), member.getSource()));
    if (member.absorbedCast)
      copied.push_back(member.absorbedCast);
    sent += member.getSentType().getNumElements();
    delivered += member.getDeliveredType().getNumElements();
  }
  auto copyIn = ChunkCatOp::create(rewriter, fuseLocations(copied),
                                   RankedTensorType::get(sent, element),
                                   sources, first.getGroupAttr());
  setMergedAttributes(copyIn, bucket.starts, ".copy_in");
  auto future = FutureType::get(rewriter.getContext(),
                                RankedTensorType::get(delivered, element));
  result.start = ReduceScatterOp::create(
      rewriter, fuseLocations(bucket.starts), future, copyIn.getOutput(),
      first.getGroupAttr(), first.getReductionAttr(),
      rewriter.getI64IntegerAttr(0),
      /*into=*/ValueRange());

  rewriter.setInsertionPoint(bucket.waits.front());
  result.wait = cast<CollectiveOpInterface>(result.start)
                    .createWait(rewriter, fuseLocations(bucket.waits));
  result.values =
      viewDelivered(rewriter, result.wait->getResult(0), bucket.members);
  return result;
}
