//===- Lowering.h - What the lowerings to requests share --------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state of turning one module from `commsched` to `commsched_rt`, and the
// functions that do it for one kind of operation each. All of them report what
// they cannot lower at the operation.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_CONVERSION_COMMSCHEDTORUNTIME_LOWERING_H
#define COMMSCHED_LIB_CONVERSION_COMMSCHEDTORUNTIME_LOWERING_H

#include "../RuntimeTypes.h"
#include "RowCopies.h"

#include "CommSched/Analysis/Costs/OperationCosts.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"

namespace mlir::commsched {

struct Lowering {
  IRRewriter &rewriter;
  OperationCosts &costs;
  SymbolTableCollection &symbolTables;

  /// The predicted time of `op`, or null when it is not known.
  IntegerAttr getRuntimeNs(Operation *op);

  /// The members of the group that `symbol` names, seen from `op`.
  FailureOr<int64_t> getGroupSize(Operation *op, FlatSymbolRefAttr symbol);

  /// A tensor without content: of `type`, or `elements` in one row.
  Value createEmpty(Location loc, RankedTensorType type);
  Value createEmpty(Location loc, int64_t elements, Type elementType);
};

/// Fails, with an error at `op`, unless all of `types` are tensors of static
/// shape whose elements the runtime can lay out.
LogicalResult requireLowerableTypes(Operation *op, TypeRange types);

/// The same for the operands and results of `op`.
LogicalResult requireLowerableTypes(Operation *op);

/// Turns a start and its wait into a request. `name` is what reports call it.
LogicalResult lowerCollective(Lowering &lowering, CollectiveOpInterface start,
                              StringRef name);

LogicalResult lowerCopyIn(Lowering &lowering, AllGatherCopyInOp op);
LogicalResult lowerCopyOut(Lowering &lowering, SplitWithSizesCopyOp op);
LogicalResult lowerChunkCat(Lowering &lowering, ChunkCatOp op);
LogicalResult lowerFsdpCopy(Lowering &lowering, FsdpCopyOp op);
/// Before the copies are lowered.
void lowerStorageRead(Lowering &lowering, bufferization::ToTensorOp op);

LogicalResult lowerCompute(Lowering &lowering, ComputeOp op);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_CONVERSION_COMMSCHEDTORUNTIME_LOWERING_H
