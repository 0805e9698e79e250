//===- Collectives.cpp - Conversion of the collectives of shard -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Conversions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::shardconversion;

/// Replaces `op` by a start on its group that sends `input`, with its wait; by
/// `input` where there is one device. `arguments` are those of the start's
/// builder behind the group.
template <typename StartT, typename... Args>
static LogicalResult replaceByStart(Operation *op, Context &context,
                                    Type delivered, Value input,
                                    Args &&...arguments) {
  if (context.group.size == 1)
    return replace(op, input, context);
  Operation *wait =
      createStartAndWait<StartT>(op, context, getFutureOf(delivered), input,
                                 context.groups.getSymbol(context.group),
                                 std::forward<Args>(arguments)...);
  return replace(op, wait->getResult(0), context);
}

//===----------------------------------------------------------------------===//
// Gathers, exchanges, broadcasts, scatters
//===----------------------------------------------------------------------===//

/// Concatenates on every device.
template <typename OpT>
static LogicalResult convertGather(OpT op, Context &context) {
  return replaceByStart<AllGatherOp>(op, context, op.getType(), op.getInput(),
                                     op.getGatherAxis().getSExtValue(),
                                     /*into=*/ValueRange());
}

LogicalResult mlir::commsched::shardconversion::convert(shard::AllGatherOp op,
                                                        Context &context) {
  return convertGather(op, context);
}

/// The result on other devices than the root is undefined, so they may have the
/// root's. Its type is the same on all, so that this takes no more memory, and
/// the root, which sets the pace, receives no more bytes than before.
LogicalResult mlir::commsched::shardconversion::convert(shard::GatherOp op,
                                                        Context &context) {
  if (failed(getMember(op, "root", context.group, op.getRoot())))
    return failure();
  return convertGather(op, context);
}

/// Whether `input` can be cut along `dim` into a part for each member.
static LogicalResult verifyParts(Operation *op, StringRef name, Value input,
                                 int64_t dim, const DeviceGroup &group) {
  auto type = cast<RankedTensorType>(input.getType());
  if (dim < 0 || dim >= type.getRank())
    return op->emitOpError("has ")
           << name << " " << dim << ", which is no dimension of " << type;
  if (type.getDimSize(dim) % group.size != 0)
    return emitGridError(op, group.grid)
           << "cuts dimension " << dim << " of " << type << " into "
           << group.size << " parts, which does not divide "
           << type.getDimSize(dim);
  return success();
}

LogicalResult mlir::commsched::shardconversion::convert(shard::AllToAllOp op,
                                                        Context &context) {
  int64_t splitDim = op.getSplitAxis().getSExtValue();
  if (context.group.size > 1 &&
      failed(verifyParts(op, "split_axis", op.getInput(), splitDim,
                         context.group)))
    return failure();
  return replaceByStart<AllToAllOp>(
      op, context, op.getType(), op.getInput(), splitDim,
      op.getConcatAxis().getSExtValue(), /*input_splits=*/DenseI64ArrayAttr(),
      /*output_splits=*/DenseI64ArrayAttr(), /*into=*/ValueRange(),
      /*input_sizes=*/Value(), /*output_sizes=*/Value());
}

LogicalResult mlir::commsched::shardconversion::convert(shard::BroadcastOp op,
                                                        Context &context) {
  FailureOr<int64_t> root = getMember(op, "root", context.group, op.getRoot());
  if (failed(root))
    return failure();
  return replaceByStart<BroadcastOp>(op, context, op.getType(), op.getInput(),
                                     *root,
                                     /*into=*/ValueRange());
}

/// All devices scatter what they have, and each keeps the part that came from
/// the root. The root sends what it has to send anyway, (n-1)/n of its tensor,
/// where a broadcast would send all of it; and no device has to know its own
/// place in the group. The price is a buffer as large as the root's tensor on
/// every device, and traffic of the others, which a network without full
/// bisection bandwidth feels.
LogicalResult mlir::commsched::shardconversion::convert(shard::ScatterOp op,
                                                        Context &context) {
  FailureOr<int64_t> root = getMember(op, "root", context.group, op.getRoot());
  if (failed(root))
    return failure();
  if (context.group.size == 1)
    return replace(op, op.getInput(), context);
  int64_t dim = op.getScatterAxis().getSExtValue();
  Operation *wait = createStartAndWait<AllToAllOp>(
      op, context, getFutureOf(op.getInput().getType()), op.getInput(),
      context.groups.getSymbol(context.group), dim, dim,
      /*input_splits=*/DenseI64ArrayAttr(),
      /*output_splits=*/DenseI64ArrayAttr(), /*into=*/ValueRange(),
      /*input_sizes=*/Value(), /*output_sizes=*/Value());
  int64_t size = cast<ShapedType>(op.getType()).getDimSize(dim);
  Value part =
      extractPart(op.getLoc(), wait->getResult(0), dim,
                  context.rewriter.getIndexAttr(*root * size), size, context);
  return replace(op, part, context);
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

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

/// The inputs of a reduction: its kind, and the operand in the element type of
/// the result, in which shard says to accumulate.
namespace {
struct Reduction {
  ReductionKind kind;
  Value input;
};
} // namespace

template <typename OpT>
static FailureOr<Reduction> prepare(OpT op, Context &context) {
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
  return Reduction{*kind, input};
}

static LogicalResult convertAllReduce(Operation *op, const Reduction &reduction,
                                      Context &context) {
  return replaceByStart<AllReduceOp>(op, context, reduction.input.getType(),
                                     reduction.input, reduction.kind,
                                     /*into=*/ValueRange());
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
      failed(getMember(op, "root", context.group, op.getRoot())))
    return failure();
  return convertAllReduce(op, *reduction, context);
}

LogicalResult
mlir::commsched::shardconversion::convert(shard::ReduceScatterOp op,
                                          Context &context) {
  FailureOr<Reduction> reduction = prepare(op, context);
  if (failed(reduction))
    return failure();
  return replaceByStart<ReduceScatterOp>(op, context, op.getType(),
                                         reduction->input, reduction->kind,
                                         op.getScatterAxis().getSExtValue(),
                                         /*into=*/ValueRange());
}

//===----------------------------------------------------------------------===//
// Sends, receives, shifts
//===----------------------------------------------------------------------===//

/// The operand stands for the result, of which shard says only the type.
LogicalResult mlir::commsched::shardconversion::convert(shard::SendOp op,
                                                        Context &context) {
  FailureOr<int64_t> target =
      getMember(op, "destination", context.group, op.getDestination());
  if (failed(target))
    return failure();
  createStartAndWait<SendOp>(
      op, context, FutureType::get(op.getContext(), {}), op.getInput(),
      context.groups.getSymbol(context.group), *target, /*tag=*/IntegerAttr());
  return replace(op, op.getInput(), context);
}

LogicalResult mlir::commsched::shardconversion::convert(shard::RecvOp op,
                                                        Context &context) {
  if (!op.getSource())
    return op.emitOpError("cannot be converted: it receives from any device, "
                          "and 'commsched.recv' from one that it names");
  FailureOr<int64_t> source =
      getMember(op, "source", context.group, *op.getSource());
  if (failed(source))
    return failure();
  Operation *wait = createStartAndWait<RecvOp>(
      op, context, getFutureOf(op.getType()),
      context.groups.getSymbol(context.group), *source, /*tag=*/IntegerAttr(),
      /*into=*/ValueRange());
  return replace(op, wait->getResult(0), context);
}

/// Returns the pairs of source and target when every member's tensor moves by
/// `offset` along the axis at `position` of the group.
static SmallVector<std::pair<int64_t, int64_t>>
getShiftPairs(const DeviceGroup &group, unsigned position, int64_t offset,
              bool rotate) {
  int64_t size = group.shape[position], weight = group.getWeight(position);
  if (rotate)
    offset = (offset % size + size) % size;
  SmallVector<std::pair<int64_t, int64_t>> pairs;
  // Beyond the length of the axis no device sends, and sums might overflow.
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
  // The verifier has seen that it is one of the axes.
  int64_t axis = op.getShiftAxis().getSExtValue();
  unsigned position =
      llvm::find(context.group.axes, axis) - context.group.axes.begin();
  int64_t offset = op.getOffset();
  auto pairs = getShiftPairs(context.group, position, offset, op.getRotate());
  bool staysInPlace = op.getRotate()
                          ? offset % context.group.shape[position] == 0
                          : offset == 0;
  // If no device sends, the result is undefined everywhere.
  if (staysInPlace || pairs.empty())
    return replace(op, op.getInput(), context);
  return replaceByStart<PermuteOp>(op, context, op.getType(), op.getInput(),
                                   getPairsAttr(op.getContext(), pairs),
                                   /*into=*/ValueRange());
}
