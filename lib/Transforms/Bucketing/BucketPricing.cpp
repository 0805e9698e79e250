//===- BucketPricing.cpp --------------------------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BucketPricing.h"

using namespace mlir;
using namespace mlir::commsched;
using schedule::BucketCost;
using schedule::NodeId;

SmallVector<CollectiveOpInterface>
mlir::commsched::getMembers(const BlockProblem &problem,
                            ArrayRef<NodeId> starts) {
  return llvm::map_to_vector(starts, [&](NodeId start) {
    return cast<CollectiveOpInterface>(problem.getOperation(start));
  });
}

BucketPricer::BucketPricer(const BlockProblem &problem, OperationCosts &costs)
    : problem(problem), costs(costs) {
  for (NodeId node = 0; node < problem.getProblem().numNodes(); ++node)
    nodes[problem.getOperation(node)] = node;
}

PricedBucket BucketPricer::price(ArrayRef<NodeId> starts,
                                 ArrayRef<BucketMode> modes) const {
  SmallVector<CollectiveOpInterface> members = getMembers(problem, starts);
  PricedBucket best;
  best.mode = modes.front();
  int64_t leastNs = std::numeric_limits<int64_t>::max();
  for (BucketMode mode : modes) {
    SmallVector<Operation *> casts = getAbsorbedCasts(members, mode);
    std::optional<BucketCost> cost =
        estimateBucket(costs, members, mode, casts);
    if (!cost)
      continue;
    int64_t totalNs = cost->copyInNs + cost->collectiveNs + cost->copyOutNs;
    for (Operation *cast : casts) {
      totalNs -= costs.getRuntimeNs(cast).value_or(0);
      cost->absorbed.push_back(nodes.at(cast));
    }
    if (totalNs >= leastNs)
      continue;
    leastNs = totalNs;
    best = {mode, std::move(*cost), std::move(casts)};
  }
  return best;
}
