//===- MergeableStarts.cpp - Collectives that may share a bucket ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "MergeableStarts.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::NodeId;
using schedule::NodeKind;
using schedule::Problem;

std::vector<MergeableStart>
mlir::commsched::findMergeableStarts(const BlockProblem &block) {
  const Problem &problem = block.getProblem();
  std::vector<MergeableStart> starts(problem.numNodes());
  DenseMap<std::pair<Attribute, int>, int32_t> keys;
  for (NodeId node = 0; node < problem.numNodes(); ++node) {
    if (problem.kind(node) != NodeKind::Start)
      continue;
    auto collective = cast<CollectiveOpInterface>(block.getOperation(node));
    MergeableStart &start = starts[node];
    for (BucketMode mode : {BucketMode::Copy, BucketMode::Coalesced}) {
      std::optional<std::string> reason =
          getUnmergeableReason(collective, mode);
      if (reason) {
        start.reason = std::move(*reason);
        continue;
      }
      Attribute key = getMergeKey(collective, mode, /*multiDtype=*/false);
      start.mode = mode;
      start.key = keys.try_emplace({key, static_cast<int>(mode)},
                                   static_cast<int32_t>(keys.size()))
                      .first->second;
      break;
    }
  }
  return starts;
}
