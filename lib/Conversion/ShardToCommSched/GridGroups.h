//===- GridGroups.h - Process groups of device grids ------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which process groups the axes of a grid stand for. Devices of a grid are
// ranks, numbered row by row (the last axis fastest). Those that agree in all
// coordinates outside of some axes are a group; their order in it is row-major
// along these axes in the order in which they are listed.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_CONVERSION_SHARDTOCOMMSCHED_GRIDGROUPS_H
#define COMMSCHED_LIB_CONVERSION_SHARDTOCOMMSCHED_GRIDGROUPS_H

#include "CommSched/Dialect/CommSchedDialect.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"

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

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_CONVERSION_SHARDTOCOMMSCHED_GRIDGROUPS_H
