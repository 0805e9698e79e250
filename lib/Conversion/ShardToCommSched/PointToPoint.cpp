//===- PointToPoint.cpp - Sends, receives and shifts ----------------------===//
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

/// The operand stands for the result, of which shard says only the type.
LogicalResult mlir::commsched::shardconversion::convert(shard::SendOp op,
                                                        Context &context) {
  FailureOr<DeviceGroup> group = getVerifiedGroup(op, context);
  if (failed(group))
    return failure();
  FailureOr<int64_t> target =
      getMember(op, "destination", *group, op.getDestination());
  if (failed(target))
    return failure();
  createStartAndWait<SendOp>(op, context, FutureType::get(op.getContext(), {}),
                             op.getInput(), context.groups.getSymbol(*group),
                             *target, /*tag=*/IntegerAttr());
  return replace(op, op.getInput(), context);
}

LogicalResult mlir::commsched::shardconversion::convert(shard::RecvOp op,
                                                        Context &context) {
  FailureOr<DeviceGroup> group = getVerifiedGroup(op, context);
  if (failed(group))
    return failure();
  if (!op.getSource())
    return op.emitOpError("cannot be converted: it receives from any device, "
                          "and 'commsched.recv' from one that it names");
  FailureOr<int64_t> source = getMember(op, "source", *group, *op.getSource());
  if (failed(source))
    return failure();
  Operation *wait = createStartAndWait<RecvOp>(
      op, context, getFutureOf(op.getType()), context.groups.getSymbol(*group),
      *source, /*tag=*/IntegerAttr(), /*into=*/ValueRange());
  return replace(op, wait->getResult(0), context);
}

/// Who sends to whom when every member's tensor moves on by `offset` along the
/// axis at `position` of the group.
static SmallVector<std::pair<int64_t, int64_t>>
getShiftPairs(const DeviceGroup &group, unsigned position, int64_t offset,
              bool rotate) {
  int64_t size = group.shape[position], weight = group.getWeight(position);
  if (rotate)
    offset = (offset % size + size) % size;
  SmallVector<std::pair<int64_t, int64_t>> pairs;
  // Further than the axis is long, nobody sends; nor could it be added up.
  if (offset <= -size || offset >= size)
    return pairs;
  for (int64_t source = 0; source < group.size; ++source) {
    int64_t from = source / weight % size;
    int64_t to = rotate ? (from + offset) % size : from + offset;
    if (to >= 0 && to < size)
      pairs.push_back({source, source + (to - from) * weight});
  }
  return pairs;
}

/// A shift by k takes a tensor from the device with index i to that with index
/// i + k. Devices that receive nothing have an undefined result; a permute
/// delivers zeros to them.
LogicalResult mlir::commsched::shardconversion::convert(shard::ShiftOp op,
                                                        Context &context) {
  FailureOr<DeviceGroup> group = getVerifiedGroup(op, context);
  if (failed(group))
    return failure();
  // The verifier has seen that it is one of the axes.
  int64_t axis = op.getShiftAxis().getSExtValue();
  unsigned position = llvm::find(group->axes, axis) - group->axes.begin();
  int64_t offset = op.getOffset();
  auto pairs = getShiftPairs(*group, position, offset, op.getRotate());
  bool staysInPlace =
      op.getRotate() ? offset % group->shape[position] == 0 : offset == 0;
  // With nobody to send, the result is undefined everywhere.
  if (staysInPlace || pairs.empty())
    return replace(op, op.getInput(), context);
  Operation *wait = createStartAndWait<PermuteOp>(
      op, context, getFutureOf(op.getType()), op.getInput(),
      context.groups.getSymbol(*group), getPairsAttr(op.getContext(), pairs),
      /*into=*/ValueRange());
  return replace(op, wait->getResult(0), context);
}
