//===- ShardToCommSched.cpp - The pass from shard to commsched ------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Conversion/Passes.h"
#include "CommSched/Dialect/Runtime/CommSchedRtDialect.h"
#include "Conversions.h"
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

/// An annotation of a program that is still written for one device.
static bool isAnnotation(Operation *op) {
  return isa<shard::ShardOp, shard::ShardingOp, shard::GetShardingOp,
             shard::ShardShapeOp>(op);
}

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
  SmallVector<Operation *> grids, ops;
  WalkResult partitioned = module.walk([&](Operation *op) {
    if (!isa_and_nonnull<shard::ShardDialect>(op->getDialect()))
      return WalkResult::advance();
    if (isAnnotation(op)) {
      op->emitOpError("annotates a program that is not partitioned; run "
                      "--shard-partition first");
      return WalkResult::interrupt();
    }
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
  for (Operation *grid : grids)
    if (SymbolTable::symbolKnownUseEmpty(grid, module))
      rewriter.eraseOp(grid);
  return success();
}
