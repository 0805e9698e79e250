//===- MergeAllReduces.cpp - One all-reduce of a packed buffer ------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MergeKinds.h"
#include "MergedAttributes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::commsched;

MergedOperations mlir::commsched::mergeAllReduces(RewriterBase &rewriter,
                                                  const MergeMembers &bucket) {
  MergedOperations result;
  rewriter.setInsertionPoint(bucket.starts.back());
  SmallVector<Value> flat;
  for (const MergeMember &member : bucket.members)
    flat.push_back(
        flatten(rewriter, member.start->getLoc(), member.getSource()));
  Location location = fuseLocations(bucket.starts);
  auto copyIn = tensor::ConcatOp::create(rewriter, location, /*dim=*/0, flat);
  setMergedAttributes(copyIn, bucket.starts, ".copy_in");
  result.start = cast<CollectiveOpInterface>(bucket.starts.front())
                     .createMergedStart(rewriter, location, copyIn.getResult(),
                                        copyIn.getResultType());

  rewriter.setInsertionPoint(bucket.waits.front());
  result.wait = cast<CollectiveOpInterface>(result.start)
                    .createWait(rewriter, fuseLocations(bucket.waits));
  result.values =
      viewDelivered(rewriter, result.wait->getResult(0), bucket.members);
  return result;
}
