//===- Collectives.cpp - Gathers, exchanges, broadcasts, scatters ---------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conversions.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::shardconversion;

/// Concatenates along `dim` on every device.
static LogicalResult convertGather(Operation *op, Value input, int64_t dim,
                                   const DeviceGroup &group, Context &context) {
  if (group.size == 1)
    return replace(op, input, context);
  Operation *wait = createStartAndWait<AllGatherOp>(
      op, context, getFutureOf(op->getResult(0).getType()), input,
      context.groups.getSymbol(group), dim, /*into=*/ValueRange());
  return replace(op, wait->getResult(0), context);
}

LogicalResult mlir::commsched::shardconversion::convert(shard::AllGatherOp op,
                                                        Context &context) {
  FailureOr<DeviceGroup> group = getVerifiedGroup(op, context);
  if (failed(group))
    return failure();
  return convertGather(op, op.getInput(), op.getGatherAxis().getSExtValue(),
                       *group, context);
}

/// The result on other devices than the root is undefined, so they may have the
/// root's. Its type is the same on all, so that this takes no more memory, and
/// the root, which sets the pace, receives no more bytes than before.
LogicalResult mlir::commsched::shardconversion::convert(shard::GatherOp op,
                                                        Context &context) {
  FailureOr<DeviceGroup> group = getVerifiedGroup(op, context);
  if (failed(group) || failed(getMember(op, "root", *group, op.getRoot())))
    return failure();
  return convertGather(op, op.getInput(), op.getGatherAxis().getSExtValue(),
                       *group, context);
}

/// Whether `input` can be cut along `dim` into a part for each member.
static LogicalResult verifyParts(Operation *op, StringRef name, Value input,
                                 int64_t dim, const DeviceGroup &group) {
  auto type = cast<RankedTensorType>(input.getType());
  if (dim < 0 || dim >= type.getRank())
    return op->emitOpError("has ")
           << name << " " << dim << ", which is no dimension of " << type;
  if (type.getDimSize(dim) % group.size != 0)
    return op->emitOpError("cuts dimension ")
           << dim << " of " << type << " into " << group.size
           << " parts, which does not divide " << type.getDimSize(dim);
  return success();
}

LogicalResult mlir::commsched::shardconversion::convert(shard::AllToAllOp op,
                                                        Context &context) {
  FailureOr<DeviceGroup> group = getVerifiedGroup(op, context);
  if (failed(group))
    return failure();
  if (group->size == 1)
    return replace(op, op.getInput(), context);
  int64_t splitDim = op.getSplitAxis().getSExtValue();
  if (failed(verifyParts(op, "split_axis", op.getInput(), splitDim, *group)))
    return failure();
  Operation *wait = createStartAndWait<AllToAllOp>(
      op, context, getFutureOf(op.getType()), op.getInput(),
      context.groups.getSymbol(*group), splitDim,
      op.getConcatAxis().getSExtValue(), /*input_splits=*/DenseI64ArrayAttr(),
      /*output_splits=*/DenseI64ArrayAttr(), /*into=*/ValueRange());
  return replace(op, wait->getResult(0), context);
}

LogicalResult mlir::commsched::shardconversion::convert(shard::BroadcastOp op,
                                                        Context &context) {
  FailureOr<DeviceGroup> group = getVerifiedGroup(op, context);
  if (failed(group))
    return failure();
  FailureOr<int64_t> root = getMember(op, "root", *group, op.getRoot());
  if (failed(root))
    return failure();
  if (group->size == 1)
    return replace(op, op.getInput(), context);
  Operation *wait = createStartAndWait<BroadcastOp>(
      op, context, getFutureOf(op.getType()), op.getInput(),
      context.groups.getSymbol(*group), *root, /*into=*/ValueRange());
  return replace(op, wait->getResult(0), context);
}

/// All devices scatter what they have, and each keeps the part that came from
/// the root. The root sends what it has to send anyway, (n-1)/n of its tensor,
/// where a broadcast would send all of it; and no device has to know its own
/// place in the group. The price is a buffer as large as the root's tensor on
/// every device, and traffic of the others, which a network without full
/// bisection bandwidth feels.
LogicalResult mlir::commsched::shardconversion::convert(shard::ScatterOp op,
                                                        Context &context) {
  FailureOr<DeviceGroup> group = getVerifiedGroup(op, context);
  if (failed(group))
    return failure();
  FailureOr<int64_t> root = getMember(op, "root", *group, op.getRoot());
  if (failed(root))
    return failure();
  if (group->size == 1)
    return replace(op, op.getInput(), context);
  int64_t dim = op.getScatterAxis().getSExtValue();
  Operation *wait = createStartAndWait<AllToAllOp>(
      op, context, getFutureOf(op.getInput().getType()), op.getInput(),
      context.groups.getSymbol(*group), dim, dim,
      /*input_splits=*/DenseI64ArrayAttr(),
      /*output_splits=*/DenseI64ArrayAttr(), /*into=*/ValueRange());
  int64_t size = cast<ShapedType>(op.getType()).getDimSize(dim);
  Value part =
      extractPart(op.getLoc(), wait->getResult(0), dim,
                  context.rewriter.getIndexAttr(*root * size), size, context);
  return replace(op, part, context);
}
