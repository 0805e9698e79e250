//===- Conversions.h - Conversions of shard's operations --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The process groups of device grids, and the conversion of each operation of
// `shard`, which replaces the operation, or emits an error at it and does not
// change it.
//
// The devices of a grid are ranks, numbered in row-major order (the last axis
// fastest). The devices that agree in all coordinates outside of some axes form
// a group; their order in the group is row-major along these axes in the order
// in which they are listed.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_CONVERSION_SHARDTOCOMMSCHED_CONVERSIONS_H
#define COMMSCHED_LIB_CONVERSION_SHARDTOCOMMSCHED_CONVERSIONS_H

#include "CommSched/Dialect/CommSchedDialect.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::commsched {

/// Axes of a grid of static shape, outermost first.
struct DeviceGroup {
  shard::GridOp grid;
  SmallVector<shard::GridAxis> axes;
  /// The grid's size along each of `axes`.
  SmallVector<int64_t> shape;
  /// The number of devices in one group: the product of `shape`.
  int64_t size;

  /// How far apart two members are that are neighbours along the axis at
  /// `position` of `axes`, in the order of the group.
  int64_t getWeight(unsigned position) const;
  /// The place in the group of the member with the coordinates `index`.
  int64_t getLinearIndex(ArrayRef<int64_t> index) const;
};

/// Finds and declares the groups of one conversion.
class GridGroups {
public:
  /// `ranksPerNode` ranks with consecutive numbers share a node.
  GridGroups(SymbolTableCollection &symbolTables, int64_t ranksPerNode)
      : symbolTables(symbolTables), ranksPerNode(ranksPerNode) {}

  /// The group along `axes` of the grid that `op` names. Errors at `op`: the
  /// grid is missing, dynamic, empty or larger than ranks can be numbered; an
  /// axis is none of the grid's or listed twice.
  FailureOr<DeviceGroup> lookup(Operation *op, FlatSymbolRefAttr grid,
                                ArrayRef<shard::GridAxis> axes);
  /// Likewise along all axes: one group of all devices.
  FailureOr<DeviceGroup> lookupAll(Operation *op, FlatSymbolRefAttr grid);

  /// The name of the `commsched.group`, which is declared behind the grid and
  /// its earlier groups when it is first asked for: `@grid_axes_0_2`, with a
  /// number at the end if that names something else.
  StringRef getSymbol(const DeviceGroup &group);

private:
  SymbolTableCollection &symbolTables;
  int64_t ranksPerNode;
  /// The groups declared so far, by grid and axes.
  llvm::DenseMap<std::pair<Operation *, Attribute>, GroupOp> declared;
  /// The last one of each grid, for the next to follow.
  llvm::DenseMap<Operation *, Operation *> lastDeclared;
};

/// Emits an error at `op` that contradicts the shape of `grid`, with a note at
/// the grid.
InFlightDiagnostic emitGridError(Operation *op, shard::GridOp grid);

} // namespace mlir::commsched

namespace mlir::commsched::shardconversion {

struct Context {
  IRRewriter &rewriter;
  GridGroups &groups;
  /// The devices among which the operation of static tensors that is converted
  /// communicates. Those on indices and halos look theirs up themselves.
  DeviceGroup group = {};
};

// Collectives.cpp
LogicalResult convert(shard::AllGatherOp op, Context &context);
LogicalResult convert(shard::GatherOp op, Context &context);
LogicalResult convert(shard::AllToAllOp op, Context &context);
LogicalResult convert(shard::BroadcastOp op, Context &context);
LogicalResult convert(shard::ScatterOp op, Context &context);
LogicalResult convert(shard::AllReduceOp op, Context &context);
LogicalResult convert(shard::ReduceOp op, Context &context);
LogicalResult convert(shard::ReduceScatterOp op, Context &context);
LogicalResult convert(shard::SendOp op, Context &context);
LogicalResult convert(shard::RecvOp op, Context &context);
LogicalResult convert(shard::ShiftOp op, Context &context);

// Indices.cpp
LogicalResult convert(shard::UpdateHaloOp op, Context &context);

LogicalResult convert(shard::AllSliceOp op, Context &context);
LogicalResult convert(shard::GridShapeOp op, Context &context);
LogicalResult convert(shard::ProcessMultiIndexOp op, Context &context);
LogicalResult convert(shard::ProcessLinearIndexOp op, Context &context);
LogicalResult convert(shard::NeighborsLinearIndicesOp op, Context &context);

// ShardToCommSched.cpp

/// Every operand and result that has a shape is a tensor of static shape.
LogicalResult verifyStaticTensors(Operation *op);

/// The place in the group of the member that `op` calls `name` ("root"), whose
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
