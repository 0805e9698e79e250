//===- SplitRings.cpp - Gathers that become rings -------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Analysis/Split/SplitRegion.h"
#include "CommSched/Dialect/CommSchedDialect.h"

using namespace mlir;
using namespace mlir::commsched;

/// What is gathered of how many ranks, along which dimension; none if the sizes
/// are not those of such a gather.
static std::optional<SplitAxis> findRingAxis(AllGatherOp gather) {
  auto shard = cast<RankedTensorType>(gather.getInputs().front().getType());
  auto delivered = llvm::to_vector(
      cast<CollectiveOpInterface>(gather.getOperation()).getDeliveredTypes());
  auto whole = dyn_cast<RankedTensorType>(delivered.front());
  auto dim = static_cast<int64_t>(gather.getDim());
  int64_t size = shard.getDimSize(dim);
  if (!whole || size < 1 || whole.getDimSize(dim) / size < 2)
    return std::nullopt;
  return SplitAxis{whole.getDimSize(dim) / size,
                   SplitAxisKind::Parallel,
                   {},
                   {AxisPlace{/*value=*/0, dim, /*outer=*/1}}};
}

std::optional<std::string> mlir::commsched::getRingObstacle(Operation *op) {
  auto gather = dyn_cast<AllGatherOp>(op);
  if (!gather)
    return "is no commsched.all_gather, and only these become rings";
  if (std::optional<std::string> reason = getUnsplittableReason(op))
    return reason;
  if (!findRingAxis(gather))
    return "gathers from one rank, or nothing";
  return std::nullopt;
}

std::optional<SplitAxis> mlir::commsched::getRingAxis(Operation *op) {
  if (getRingObstacle(op))
    return std::nullopt;
  return findRingAxis(cast<AllGatherOp>(op));
}
