//===- MergeCollectives.cpp - Merging of collectives into one -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "MergeCollectives.h"

#include "CommSched/Dialect/CommSchedAttributes.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Interfaces/CommSchedInterfaces.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::commsched;

static MergeMembers findMembers(ArrayRef<CollectiveOpInterface> collectives,
                                ArrayRef<Operation *> absorbedCasts) {
  SmallPtrSet<Operation *, 8> casts(absorbedCasts.begin(), absorbedCasts.end());
  MergeMembers bucket;
  for (CollectiveOpInterface start : collectives) {
    MergeMember &member = bucket.members.emplace_back();
    member.start = start;
    member.wait = start.getWait();
    member.sent = start.getSentValues().front();
    member.delivered = start.getDeliveredTypes().front();
    if (Operation *cast = member.sent.getDefiningOp(); casts.contains(cast))
      member.absorbedCast = cast;
    bucket.starts.push_back(start);
    bucket.waits.push_back(member.wait);
  }
  return bucket;
}

static MergedCollective merge(RewriterBase &rewriter,
                              const MergeMembers &bucket, BucketMode mode,
                              bool multiDtype) {
  if (mode == BucketMode::Coalesced)
    return coalesceCollectives(rewriter, bucket);
  auto first = cast<CollectiveOpInterface>(bucket.starts.front());
  switch (first.getCollectiveKind()) {
  case CollectiveKind::AllGather:
    return mergeAllGathers(rewriter, bucket, multiDtype);
  case CollectiveKind::ReduceScatter:
    return mergeReduceScatters(rewriter, bucket);
  default:
    return mergeElementWise(rewriter, bucket);
  }
}

MergedCollective
mlir::commsched::mergeCollectives(RewriterBase &rewriter,
                                  ArrayRef<CollectiveOpInterface> members,
                                  BucketMode mode, bool multiDtype) {
  return mergeCollectives(rewriter, members, mode, multiDtype,
                          getAbsorbedCasts(members, mode));
}

MergedCollective mlir::commsched::mergeCollectives(
    RewriterBase &rewriter, ArrayRef<CollectiveOpInterface> members,
    BucketMode mode, bool multiDtype, ArrayRef<Operation *> absorbedCasts) {
  OpBuilder::InsertionGuard guard(rewriter);
  MergeMembers bucket = findMembers(members, absorbedCasts);
  MergedCollective merged = merge(rewriter, bucket, mode, multiDtype);
  setMergedAttributes(merged.start, bucket.starts);
  setMergedAttributes(merged.wait, bucket.waits);
  for (StringRef name : {orderAttrName, implementationAttrName})
    for (Operation *start : bucket.starts)
      if (Attribute attribute = start->getDiscardableAttr(name)) {
        merged.start->setDiscardableAttr(name, attribute);
        break;
      }
  for (auto [member, value] : llvm::zip_equal(bucket.members, merged.values)) {
    rewriter.replaceOp(member.wait, value);
    rewriter.eraseOp(member.start);
    if (member.absorbedCast)
      rewriter.eraseOp(member.absorbedCast);
  }
  return merged;
}
