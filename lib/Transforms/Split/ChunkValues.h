//===- ChunkValues.h - Slices and concatenations ----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cuts a value into chunks and puts chunks together. The inverse functions
// recognize what these create.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_SPLIT_CHUNKVALUES_H
#define COMMSCHED_LIB_TRANSFORMS_SPLIT_CHUNKVALUES_H

#include "CommSched/Interfaces/SplitRule.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace mlir::commsched {

/// A value, and the operations that make it, in their order.
struct CreatedValue {
  Value value;
  SmallVector<Operation *, 4> operations;
};

/// Creates part number `place`, an index, of `count` of `value`: a view, or
/// with `isCopied` a copy.
CreatedValue createSlice(OpBuilder &builder, Location loc, Value value,
                         ValueSplit split, OpFoldResult place, int64_t count,
                         bool isCopied);

/// Creates the part of `whole` with the number `place` of `count`: a view, with
/// as many dimensions more as `split` has blocks.
CreatedValue createDestination(OpBuilder &builder, Location loc, Value whole,
                               ValueSplit split, OpFoldResult place,
                               int64_t count);

/// Creates the value of `type` of which `chunks` are all chunks.
CreatedValue createConcat(OpBuilder &builder, Location loc, Type type,
                          ValueRange chunks, ValueSplit split);

/// The same, where each chunk is the part with the number in `places`.
CreatedValue createInserts(OpBuilder &builder, Location loc, Type type,
                           ValueRange chunks, ValueSplit split,
                           ArrayRef<OpFoldResult> places);

/// Creates the value `storage` with all its parts, which are `chunks`.
CreatedValue createJoin(OpBuilder &builder, Location loc, Value storage,
                        ValueRange chunks);

/// Whether createSum() knows how to add elements of `type`.
bool canAdd(Type type);

/// Creates the sum of `chunks`, added up in their order.
CreatedValue createSum(OpBuilder &builder, Location loc, ValueRange chunks);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_SPLIT_CHUNKVALUES_H
