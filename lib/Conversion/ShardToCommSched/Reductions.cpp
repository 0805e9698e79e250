//===- Reductions.cpp - Reductions and the casts before them --------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conversions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::shardconversion;

static std::optional<ReductionKind> convertKind(shard::ReductionKind kind) {
  switch (kind) {
  case shard::ReductionKind::Sum:
    return ReductionKind::Sum;
  case shard::ReductionKind::Max:
    return ReductionKind::Max;
  case shard::ReductionKind::Min:
    return ReductionKind::Min;
  case shard::ReductionKind::Product:
    return ReductionKind::Prod;
  case shard::ReductionKind::Average:
    return ReductionKind::Avg;
  case shard::ReductionKind::BitwiseAnd:
    return ReductionKind::BitAnd;
  case shard::ReductionKind::BitwiseOr:
    return ReductionKind::BitOr;
  case shard::ReductionKind::BitwiseXor:
    return ReductionKind::BitXor;
  case shard::ReductionKind::Generic:
    return std::nullopt;
  }
  llvm_unreachable("a reduction kind that shard does not have");
}

/// Converts the elements of `input` with a cast of arith.
template <typename CastT>
static Value createCast(Location location, Value input, Type target,
                        OpBuilder &builder) {
  Type type = cast<RankedTensorType>(input.getType()).clone(target);
  return CastT::create(builder, location, type, input);
}

/// Converts the elements of `input` to `target`, or returns null where arith
/// has no cast. Integers are signed, but i1 is a truth value: 0 or 1.
static Value castElements(Location location, Value input, Type target,
                          OpBuilder &builder) {
  Type source = cast<RankedTensorType>(input.getType()).getElementType();
  if (source == target)
    return input;
  auto create = [&](auto createCast) {
    return createCast(location, input, target, builder);
  };
  bool isTruth = source.isInteger(1);
  if (isa<FloatType>(source) && isa<FloatType>(target)) {
    unsigned from = source.getIntOrFloatBitWidth();
    unsigned to = target.getIntOrFloatBitWidth();
    if (from != to)
      return create(from < to ? createCast<arith::ExtFOp>
                              : createCast<arith::TruncFOp>);
    // Two formats of one width, such as f16 and bf16: f32 holds both.
    if (from >= 32)
      return {};
    Value wide = createCast<arith::ExtFOp>(location, input,
                                           builder.getF32Type(), builder);
    return castElements(location, wide, target, builder);
  }
  if (source.isSignlessInteger() && isa<FloatType>(target))
    return create(isTruth ? createCast<arith::UIToFPOp>
                          : createCast<arith::SIToFPOp>);
  if (isa<FloatType>(source) && target.isSignlessInteger())
    return create(createCast<arith::FPToSIOp>);
  if (source.isSignlessInteger() && target.isSignlessInteger()) {
    if (source.getIntOrFloatBitWidth() > target.getIntOrFloatBitWidth())
      return create(createCast<arith::TruncIOp>);
    return create(isTruth ? createCast<arith::ExtUIOp>
                          : createCast<arith::ExtSIOp>);
  }
  return {};
}

/// What a reduction starts from: its group, its kind, and the operand in the
/// element type of the result, in which shard says to accumulate.
namespace {
struct Reduction {
  DeviceGroup group;
  ReductionKind kind;
  Value input;
};
} // namespace

template <typename OpT>
static FailureOr<Reduction> prepare(OpT op, Context &context) {
  FailureOr<DeviceGroup> group = getVerifiedGroup(op, context);
  if (failed(group))
    return failure();
  std::optional<ReductionKind> kind = convertKind(op.getReduction());
  if (!kind)
    return op.emitOpError("cannot be converted: a generic reduction does not "
                          "say how elements are combined");
  auto result = cast<RankedTensorType>(op.getResult().getType());
  Value input = castElements(op.getLoc(), op.getInput(),
                             result.getElementType(), context.rewriter);
  if (!input)
    return op.emitOpError("cannot be converted: arith has no cast from ")
           << cast<RankedTensorType>(op.getInput().getType()).getElementType()
           << " to " << result.getElementType()
           << ", the type in which to accumulate";
  return Reduction{*group, *kind, input};
}

static LogicalResult convertAllReduce(Operation *op, const Reduction &reduction,
                                      Context &context) {
  if (reduction.group.size == 1)
    return replace(op, reduction.input, context);
  Operation *wait = createStartAndWait<AllReduceOp>(
      op, context, getFutureOf(reduction.input.getType()), reduction.input,
      context.groups.getSymbol(reduction.group), reduction.kind,
      /*into=*/ValueRange());
  return replace(op, wait->getResult(0), context);
}

LogicalResult mlir::commsched::shardconversion::convert(shard::AllReduceOp op,
                                                        Context &context) {
  FailureOr<Reduction> reduction = prepare(op, context);
  if (failed(reduction))
    return failure();
  return convertAllReduce(op, *reduction, context);
}

/// The result on other devices than the root is undefined, so they may have the
/// root's. An all-reduce sends up to twice the bytes of a reduction to one
/// root; there is no start for the latter.
LogicalResult mlir::commsched::shardconversion::convert(shard::ReduceOp op,
                                                        Context &context) {
  FailureOr<Reduction> reduction = prepare(op, context);
  if (failed(reduction) ||
      failed(getMember(op, "root", reduction->group, op.getRoot())))
    return failure();
  return convertAllReduce(op, *reduction, context);
}

LogicalResult
mlir::commsched::shardconversion::convert(shard::ReduceScatterOp op,
                                          Context &context) {
  FailureOr<Reduction> reduction = prepare(op, context);
  if (failed(reduction))
    return failure();
  if (reduction->group.size == 1)
    return replace(op, reduction->input, context);
  Operation *wait = createStartAndWait<ReduceScatterOp>(
      op, context, getFutureOf(op.getType()), reduction->input,
      context.groups.getSymbol(reduction->group), reduction->kind,
      op.getScatterAxis().getSExtValue(), /*into=*/ValueRange());
  return replace(op, wait->getResult(0), context);
}
