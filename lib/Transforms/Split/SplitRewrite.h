//===- SplitRewrite.h - Rewriting of regions into chunks --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replaces the operations of a region by chunks. See SplitRegion.h for what a
// region is, and docs/guide/splitting.md for the result.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_SPLIT_SPLITREWRITE_H
#define COMMSCHED_LIB_TRANSFORMS_SPLIT_SPLITREWRITE_H

#include "CommSched/Analysis/Costs/OperationCosts.h"
#include "CommSched/Analysis/Split/SplitRegion.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Interfaces/SplitRule.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::commsched {

//===----------------------------------------------------------------------===//
// Slices and concatenations
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Rings: each rank passes the shard that it got last on to the next one
//===----------------------------------------------------------------------===//

/// Where chunks are in a ring of `size` ranks: chunk c is part number
/// (rank - c) mod size of every value.
struct RingPlaces {
  SmallVector<OpFoldResult, 8> places;
  SmallVector<Operation *, 16> operations;
};
RingPlaces createRingPlaces(OpBuilder &builder, Location loc,
                            FlatSymbolRefAttr group, int64_t size);

/// Starts to send `value` to the next of `size` ranks.
PermuteOp createRingStep(OpBuilder &builder, Location loc, Value value,
                         FlatSymbolRefAttr group, int64_t size);

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// The names of what is in chunks, each given once in a block.
class ChunkNames {
public:
  /// Collects the names that chunks of `block` have already.
  explicit ChunkNames(Block &block);

  /// A name for the chunks of `op`: its `commsched.name`, otherwise its kind
  /// and a number.
  StringAttr getName(Operation *op);
  /// The same for chunks of `value`.
  StringAttr getName(Value value);

private:
  StringAttr getUnused(MLIRContext *context, const Twine &name);

  llvm::StringSet<> used;
  llvm::StringMap<int64_t> next;
};

/// What a region was replaced by.
struct SplitOperations {
  /// By member, in the order of SplitRegion::members, and chunk. Null for the
  /// first chunk of the start of a ring, which sends nothing.
  std::vector<SmallVector<Operation *, 2>> members;
  /// By entry, in the order of SplitRegion::entries, and chunk: the operations
  /// that cut it, in their order.
  std::vector<SmallVector<SmallVector<Operation *, 4>, 2>> entries;
  /// By exit, in the order of SplitRegion::exits: the operations that put it
  /// together, in their order.
  std::vector<SmallVector<Operation *, 4>> exits;
  /// By exit: what allocates the whole into which the chunks are written, or
  /// null.
  std::vector<Operation *> storages;
};

/// Replaces the members of `region` by `count` chunks each, where the members
/// were. findUndivided(region, count) is null, and of a ring, `count` is the
/// number of its ranks. Regions of a block without
/// common members may be split one after the other.
///
/// Chunks have the name of the operation with `.chunk` and their number behind
/// it, its location and its module. What was pinned is pinned to the time of a
/// chunk by `costs`, if that is known.
SplitOperations splitRegion(const SplitRegion &region, int64_t count,
                            ChunkNames &names, OperationCosts &costs);

/// Why the chunks of `region` cannot be put together, naming the operation;
/// none if they can.
std::optional<SplitStop> getUnjoinableReason(const SplitRegion &region);

/// Puts the operations of `block` into an order in which chunks follow each
/// other: while a chunk is communicated, others are computed. Operations
/// without `commsched.chunk` keep their order.
LogicalResult orderChunks(Block &block);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_SPLIT_SPLITREWRITE_H
