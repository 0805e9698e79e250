//===- ShardToCommSched.cpp - Conversion from shard to commsched ----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conversions.h"

#include "CommSched/Conversion/Passes.h"
#include "CommSched/Dialect/Runtime/CommSchedRtDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::commsched {
#define GEN_PASS_DEF_CONVERTSHARDTOCOMMSCHED
#include "CommSched/Conversion/Passes.h.inc"
} // namespace mlir::commsched

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::shardconversion;

//===----------------------------------------------------------------------===//
// Helpers of the conversions
//===----------------------------------------------------------------------===//

LogicalResult
mlir::commsched::shardconversion::verifyStaticTensors(Operation *op) {
  SmallVector<Type> types = llvm::to_vector(op->getOperandTypes());
  llvm::append_range(types, op->getResultTypes());
  for (Type type : types) {
    auto shaped = dyn_cast<ShapedType>(type);
    if (!shaped)
      continue;
    if (!isa<RankedTensorType>(type))
      return op->emitOpError("cannot be converted: ")
             << type << " is a buffer, and commsched's collectives work on "
             << "tensors; convert before bufferization";
    if (!shaped.hasStaticShape())
      return op->emitOpError("cannot be converted: ")
             << type << " has a dynamic size";
  }
  return success();
}

FailureOr<int64_t>
mlir::commsched::shardconversion::getMember(Operation *op, StringRef name,
                                            const DeviceGroup &group,
                                            ArrayRef<int64_t> coordinates) {
  if (coordinates.size() != group.shape.size())
    return emitGridError(op, group.grid)
           << "has " << coordinates.size() << " coordinates of '" << name
           << "' for " << group.shape.size() << " axes";
  for (auto [coordinate, size] : llvm::zip_equal(coordinates, group.shape)) {
    if (ShapedType::isDynamic(coordinate))
      return op->emitOpError("cannot be converted: '")
             << name << "' is known at run time only, and must be constant";
    if (coordinate < 0 || coordinate >= size)
      return emitGridError(op, group.grid)
             << "has the coordinate " << coordinate << " in '" << name
             << "', which is not in [0, " << size << ")";
  }
  return group.getLinearIndex(coordinates);
}

LogicalResult mlir::commsched::shardconversion::replace(Operation *op,
                                                        Value value,
                                                        Context &context) {
  Type expected = op->getResult(0).getType();
  if (value.getType() != expected)
    return op->emitOpError("cannot be converted: its result would be ")
           << value.getType() << ", not " << expected;
  context.rewriter.replaceOp(op, value);
  return success();
}

Value mlir::commsched::shardconversion::extractPart(Location location,
                                                    Value tensor, int64_t dim,
                                                    OpFoldResult offset,
                                                    int64_t size,
                                                    Context &context) {
  IRRewriter &rewriter = context.rewriter;
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> strides(type.getRank(), rewriter.getIndexAttr(1));
  SmallVector<OpFoldResult> sizes =
      getAsIndexOpFoldResult(rewriter.getContext(), type.getShape());
  offsets[dim] = offset;
  sizes[dim] = rewriter.getIndexAttr(size);
  return tensor::ExtractSliceOp::create(rewriter, location, tensor, offsets,
                                        sizes, strides);
}

FutureType mlir::commsched::shardconversion::getFutureOf(Type type) {
  return FutureType::get(type.getContext(), type);
}

DenseIntElementsAttr mlir::commsched::shardconversion::getPairsAttr(
    MLIRContext *context, ArrayRef<std::pair<int64_t, int64_t>> pairs) {
  SmallVector<int64_t> values;
  for (auto [source, target] : pairs)
    values.append({source, target});
  auto type = RankedTensorType::get({static_cast<int64_t>(pairs.size()), 2},
                                    IntegerType::get(context, 64));
  return DenseIntElementsAttr::get(type, values);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static LogicalResult convertOp(Operation *op,
                               shardconversion::Context &context) {
  context.rewriter.setInsertionPoint(op);
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<shard::AllGatherOp, shard::AllReduceOp, shard::AllSliceOp,
            shard::AllToAllOp, shard::BroadcastOp, shard::GatherOp,
            shard::GridShapeOp, shard::NeighborsLinearIndicesOp,
            shard::ProcessLinearIndexOp, shard::ProcessMultiIndexOp,
            shard::RecvOp, shard::ReduceOp, shard::ReduceScatterOp,
            shard::ScatterOp, shard::SendOp, shard::ShiftOp,
            shard::UpdateHaloOp>(
          [&](auto typed) { return shardconversion::convert(typed, context); })
      .Default([](Operation *other) {
        return other->emitOpError("has no counterpart in commsched");
      });
}

namespace {

struct ConvertShardToCommSched
    : mlir::commsched::impl::ConvertShardToCommSchedBase<
          ConvertShardToCommSched> {
  using ConvertShardToCommSchedBase::ConvertShardToCommSchedBase;

  void runOnOperation() override {
    if (failed(run()))
      signalPassFailure();
  }

  LogicalResult run();
};

} // namespace

LogicalResult ConvertShardToCommSched::run() {
  ModuleOp module = getOperation();
  if (ranksPerNode < 1)
    return module.emitError("the option 'ranks-per-node' is ")
           << ranksPerNode.getValue() << ", and a node has at least one rank";
  SmallVector<Operation *> grids, shardings, ops;
  WalkResult partitioned = module.walk([&](Operation *op) {
    if (!isa_and_nonnull<shard::ShardDialect>(op->getDialect()))
      return WalkResult::advance();
    if (isa<shard::ShardOp>(op)) {
      op->emitOpError("annotates a program that is not partitioned; run "
                      "--pass-pipeline='builtin.module(func.func(sharding-"
                      "propagation,shard-partition),convert-shard-to-"
                      "commsched)' instead");
      return WalkResult::interrupt();
    }
    // Partitioning may leave a description of a layout, which has no effect.
    if (isa<shard::ShardingOp>(op))
      shardings.push_back(op);
    else
      (isa<shard::GridOp>(op) ? grids : ops).push_back(op);
    return WalkResult::advance();
  });
  if (partitioned.wasInterrupted())
    return failure();

  IRRewriter rewriter(&getContext());
  SymbolTableCollection symbolTables;
  GridGroups groups(symbolTables, ranksPerNode);
  shardconversion::Context context = {rewriter, groups};
  LogicalResult result = success();
  for (Operation *op : ops)
    if (failed(convertOp(op, context)))
      result = failure();
  if (failed(result))
    return failure();
  for (Operation *sharding : shardings)
    if (sharding->use_empty())
      rewriter.eraseOp(sharding);
  for (Operation *grid : grids)
    if (SymbolTable::symbolKnownUseEmpty(grid, module))
      rewriter.eraseOp(grid);
  return success();
}
