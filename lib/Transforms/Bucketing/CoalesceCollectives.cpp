//===- CoalesceCollectives.cpp - One launch of several tensors ------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MergeKinds.h"
#include "MergedAttributes.h"

using namespace mlir;
using namespace mlir::commsched;

MergedOperations
mlir::commsched::coalesceCollectives(RewriterBase &rewriter,
                                     const MergeMembers &bucket) {
  SmallVector<Value> sent;
  SmallVector<Type> delivered;
  for (const MergeMember &member : bucket.members) {
    sent.push_back(member.sent);
    delivered.push_back(member.delivered);
  }
  MergedOperations result;
  rewriter.setInsertionPoint(bucket.starts.back());
  result.start = cast<CollectiveOpInterface>(bucket.starts.front())
                     .createMergedStart(rewriter, fuseLocations(bucket.starts),
                                        sent, delivered);
  rewriter.setInsertionPoint(bucket.waits.front());
  result.wait = cast<CollectiveOpInterface>(result.start)
                    .createWait(rewriter, fuseLocations(bucket.waits));
  result.values = llvm::to_vector_of<Value>(result.wait->getResults());
  return result;
}
