//===- Conversions.h - One conversion for each operation --------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The conversions of shard's operations, and what they have in common. Each
// replaces its operation, or emits an error at it and leaves it alone.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_CONVERSION_SHARDTOCOMMSCHED_CONVERSIONS_H
#define COMMSCHED_LIB_CONVERSION_SHARDTOCOMMSCHED_CONVERSIONS_H

#include "GridGroups.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::commsched::shardconversion {

struct Context {
  IRRewriter &rewriter;
  GridGroups &groups;
};

// Collectives.cpp
LogicalResult convert(shard::AllGatherOp op, Context &context);
LogicalResult convert(shard::GatherOp op, Context &context);
LogicalResult convert(shard::AllToAllOp op, Context &context);
LogicalResult convert(shard::BroadcastOp op, Context &context);
LogicalResult convert(shard::ScatterOp op, Context &context);

// Reductions.cpp
LogicalResult convert(shard::AllReduceOp op, Context &context);
LogicalResult convert(shard::ReduceOp op, Context &context);
LogicalResult convert(shard::ReduceScatterOp op, Context &context);

// PointToPoint.cpp
LogicalResult convert(shard::SendOp op, Context &context);
LogicalResult convert(shard::RecvOp op, Context &context);
LogicalResult convert(shard::ShiftOp op, Context &context);

// Halo.cpp
LogicalResult convert(shard::UpdateHaloOp op, Context &context);

// Indices.cpp
LogicalResult convert(shard::AllSliceOp op, Context &context);
LogicalResult convert(shard::GridShapeOp op, Context &context);
LogicalResult convert(shard::ProcessMultiIndexOp op, Context &context);
LogicalResult convert(shard::ProcessLinearIndexOp op, Context &context);
LogicalResult convert(shard::NeighborsLinearIndicesOp op, Context &context);

// Common.cpp

/// Every operand and result that has a shape is a tensor of static shape.
LogicalResult verifyStaticTensors(Operation *op);

/// The devices among which `op` communicates, if its tensors are static.
template <typename ShardOpT>
FailureOr<DeviceGroup> getVerifiedGroup(ShardOpT op, Context &context) {
  FailureOr<DeviceGroup> group =
      context.groups.lookup(op, op.getGridAttr(), op.getGridAxes());
  if (failed(group) || failed(verifyStaticTensors(op)))
    return failure();
  return group;
}

/// The place in `group` of the member that `op` calls `name` ("root"), whose
/// coordinates must be constant and inside the group.
FailureOr<int64_t> getMember(Operation *op, StringRef name,
                             const DeviceGroup &group,
                             ArrayRef<int64_t> coordinates);

/// Replaces the only result of `op`, whose type must be that of `value`.
LogicalResult replace(Operation *op, Value value, Context &context);

/// The `size` elements from `offset` on along `dim`, and all of the others.
Value extractPart(Location location, Value tensor, int64_t dim,
                  OpFoldResult offset, int64_t size, Context &context);

FutureType getFutureOf(Type type);

/// The pairs of a permute as its attribute; there must be some.
DenseIntElementsAttr getPairsAttr(MLIRContext *context,
                                  ArrayRef<std::pair<int64_t, int64_t>> pairs);

/// Creates the start behind which `wait` comes at once, in the place of `op`.
/// It inherits what is annotated on `op`, such as `commsched.name`. `arguments`
/// are those of the start's builder.
template <typename StartT, typename... Args>
Operation *createStartAndWait(Operation *op, Context &context,
                              Args &&...arguments) {
  auto start = StartT::create(context.rewriter, op->getLoc(),
                              std::forward<Args>(arguments)...);
  start->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  return WaitOp::create(context.rewriter, op->getLoc(), start.getFuture());
}

} // namespace mlir::commsched::shardconversion

#endif // COMMSCHED_LIB_CONVERSION_SHARDTOCOMMSCHED_CONVERSIONS_H
