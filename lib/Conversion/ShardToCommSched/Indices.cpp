//===- Indices.cpp - Conversion of slices and indices of devices ----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Dialect/Runtime/CommSchedRtDialect.h"
#include "Conversions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mlir::commsched;
using namespace mlir::commsched::shardconversion;

static Value createConstant(Location location, int64_t value,
                            OpBuilder &builder) {
  return arith::ConstantIndexOp::create(builder, location, value);
}

static Value createRank(Location location, const DeviceGroup &group,
                        Context &context) {
  return rt::RankOp::create(context.rewriter, location,
                            context.groups.getSymbol(group));
}

LogicalResult mlir::commsched::shardconversion::convert(shard::AllSliceOp op,
                                                        Context &context) {
  FailureOr<DeviceGroup> group = getVerifiedGroup(op, context);
  if (failed(group))
    return failure();
  if (group->size == 1)
    return replace(op, op.getInput(), context);
  int64_t dim = op.getSliceAxis().getSExtValue();
  int64_t size = op.getType().getDimSize(dim);
  Value rank = createRank(op.getLoc(), *group, context);
  Value offset = arith::MulIOp::create(
      context.rewriter, op.getLoc(), rank,
      createConstant(op.getLoc(), size, context.rewriter));
  return replace(
      op, extractPart(op.getLoc(), op.getInput(), dim, offset, size, context),
      context);
}

/// The axes that `listed` stands for: without any, all of the grid's.
static FailureOr<DeviceGroup> lookupListed(Operation *op,
                                           FlatSymbolRefAttr grid,
                                           ArrayRef<shard::GridAxis> listed,
                                           Context &context) {
  if (listed.empty())
    return context.groups.lookupAll(op, grid);
  return context.groups.lookup(op, grid, listed);
}

LogicalResult mlir::commsched::shardconversion::convert(shard::GridShapeOp op,
                                                        Context &context) {
  FailureOr<DeviceGroup> group =
      lookupListed(op, op.getGridAttr(), op.getAxes(), context);
  if (failed(group))
    return failure();
  SmallVector<Value> sizes;
  for (int64_t size : group->shape)
    sizes.push_back(createConstant(op.getLoc(), size, context.rewriter));
  context.rewriter.replaceOp(op, sizes);
  return success();
}

/// From the place in the group along these axes, the last of which varies
/// fastest.
LogicalResult
mlir::commsched::shardconversion::convert(shard::ProcessMultiIndexOp op,
                                          Context &context) {
  FailureOr<DeviceGroup> group =
      lookupListed(op, op.getGridAttr(), op.getAxes(), context);
  if (failed(group))
    return failure();
  IRRewriter &rewriter = context.rewriter;
  Location location = op.getLoc();
  Value rank = createRank(location, *group, context);
  SmallVector<Value> index;
  for (auto [position, size] : llvm::enumerate(group->shape)) {
    Value coordinate = rank;
    if (int64_t weight = group->getWeight(position); weight > 1)
      coordinate =
          arith::DivUIOp::create(rewriter, location, coordinate,
                                 createConstant(location, weight, rewriter));
    if (position > 0)
      coordinate =
          arith::RemUIOp::create(rewriter, location, coordinate,
                                 createConstant(location, size, rewriter));
    index.push_back(coordinate);
  }
  rewriter.replaceOp(op, index);
  return success();
}

LogicalResult
mlir::commsched::shardconversion::convert(shard::ProcessLinearIndexOp op,
                                          Context &context) {
  FailureOr<DeviceGroup> group = context.groups.lookupAll(op, op.getGridAttr());
  if (failed(group))
    return failure();
  context.rewriter.replaceOp(op, createRank(op.getLoc(), *group, context));
  return success();
}

/// Arithmetic on the coordinates that are given; -1 where there is no
/// neighbour.
LogicalResult
mlir::commsched::shardconversion::convert(shard::NeighborsLinearIndicesOp op,
                                          Context &context) {
  FailureOr<DeviceGroup> grid = context.groups.lookupAll(op, op.getGridAttr());
  if (failed(grid) ||
      failed(context.groups.lookup(op, op.getGridAttr(), op.getSplitAxes())))
    return failure();
  if (op.getDevice().size() != grid->shape.size())
    return emitGridError(op, grid->grid)
           << "has " << op.getDevice().size() << " coordinates of a device of @"
           << op.getGrid() << ", which has " << grid->shape.size() << " axes";
  if (op.getSplitAxes().size() != 1)
    return op.emitOpError("cannot be converted: it has ")
           << op.getSplitAxes().size()
           << " split axes, and neighbours are those along one";

  IRRewriter &rewriter = context.rewriter;
  Location location = op.getLoc();
  auto constant = [&](int64_t value) {
    return createConstant(location, value, rewriter);
  };
  Value linear;
  for (auto [coordinate, size] : llvm::zip_equal(op.getDevice(), grid->shape)) {
    if (!linear) {
      linear = coordinate;
      continue;
    }
    linear = arith::MulIOp::create(rewriter, location, linear, constant(size));
    linear = arith::AddIOp::create(rewriter, location, linear, coordinate);
  }
  unsigned axis = op.getSplitAxes().front();
  Value weight = constant(grid->getWeight(axis));
  Value none = constant(-1);
  auto selectUnlessAt = [&](int64_t border, Value neighbour) -> Value {
    Value atBorder =
        arith::CmpIOp::create(rewriter, location, arith::CmpIPredicate::eq,
                              op.getDevice()[axis], constant(border));
    return arith::SelectOp::create(rewriter, location, atBorder, none,
                                   neighbour);
  };
  Value down = arith::SubIOp::create(rewriter, location, linear, weight);
  Value up = arith::AddIOp::create(rewriter, location, linear, weight);
  rewriter.replaceOp(
      op, {selectUnlessAt(0, down), selectUnlessAt(grid->shape[axis] - 1, up)});
  return success();
}
