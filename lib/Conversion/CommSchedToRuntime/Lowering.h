//===- Lowering.h - Lowering from commsched to commsched_rt -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state of the conversion of one module from `commsched` to `commsched_rt`,
// the functions that lower one kind of operation each, and the copies of rows
// that they create. Each function reports what it cannot lower at the
// operation.
//
// The runtime moves contiguous parts, one for each rank, but a collective may
// split or concatenate its tensors along any dimension. Row copies, which
// become `commsched_rt.copy`, convert between the two layouts.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_CONVERSION_COMMSCHEDTORUNTIME_LOWERING_H
#define COMMSCHED_LIB_CONVERSION_COMMSCHEDTORUNTIME_LOWERING_H

#include "../RuntimeTypes.h"

#include "CommSched/Analysis/Costs/OperationCosts.h"
#include "CommSched/Dialect/CommSchedDialect.h"
#include "CommSched/Dialect/Runtime/CommSchedRtDialect.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/IR/Builders.h"

namespace mlir::commsched {

/// One side of a copy: offset, row stride and repeat stride, in bytes.
using RowLayout = std::array<int64_t, 3>;

struct RowCopy {
  RowLayout source = {}, target = {};
  int64_t repeat = 1;
  int64_t rows = 1;
  /// Elements, which are bytes unless types are given.
  int64_t rowElements = 0;
  Type sourceType = nullptr;
  Type targetType = nullptr;
};

/// True if the parts of a tensor of `shape` along `dim` are not contiguous:
/// some dimension before `dim` is larger than 1.
bool needsPacking(ArrayRef<int64_t> shape, int64_t dim);

/// The copies from a tensor of `shape` that is cut along `dim` into parts of
/// the given sizes to the parts one after the other. `elementBytes` is the size
/// of an element.
SmallVector<RowCopy> getPackingCopies(ArrayRef<int64_t> shape, int64_t dim,
                                      ArrayRef<int64_t> partSizes,
                                      int64_t elementBytes);

/// The copies in the other direction.
SmallVector<RowCopy> getUnpackingCopies(ArrayRef<int64_t> shape, int64_t dim,
                                        ArrayRef<int64_t> partSizes,
                                        int64_t elementBytes);

/// Appends operations that do `copies`, one after the other. `overwrites` says
/// that together they fill the target. `offset`, if there is one, is added to
/// the offset of the target. Returns the filled tensor.
Value createCopies(OpBuilder &builder, Location loc, Value source, Value target,
                   ArrayRef<RowCopy> copies, bool overwrites,
                   Value offset = nullptr);

/// How what was received becomes what the wait delivers: nothing to do where
/// there are no copies.
struct Unpacking {
  SmallVector<RowCopy> copies;
  /// The destination, or null for a new tensor.
  Value target;
};

/// What arrives in the buffers of a collective whose wait is in another
/// function or iteration, and what the wait makes of it.
struct CarriedLaunch {
  SmallVector<Type> received;
  SmallVector<Unpacking> unpackings;
};

struct Lowering {
  IRRewriter &rewriter;
  OperationCosts &costs;
  SymbolTableCollection &symbolTables;
  /// Of the starts that have been lowered to a hold, by the erased operation.
  llvm::DenseMap<Operation *, CarriedLaunch> carried =
      llvm::DenseMap<Operation *, CarriedLaunch>();

  /// The predicted time of `op`, or null when it is not known.
  IntegerAttr getRuntimeNs(Operation *op);

  /// How the target carries out `collective`; null if the runtime decides, and
  /// for transfers.
  rt::ImplementationAttr getImplementation(CollectiveOpInterface collective);

  /// The members of the group that `symbol` names, seen from `op`.
  FailureOr<int64_t> getGroupSize(Operation *op, FlatSymbolRefAttr symbol);

  /// A tensor without content: of `type`, of which dimension 0 is `rows` if it
  /// is dynamic, or `elements` in one row.
  Value createEmpty(Location loc, RankedTensorType type, Value rows = nullptr);
  Value createEmpty(Location loc, int64_t elements, Type elementType);

  /// Replaces `wait` by what becomes of the `received` values.
  void replaceWait(WaitOp wait, ValueRange received,
                   ArrayRef<Unpacking> unpackings);
};

/// Fails, with an error at `op`, unless all of `types` are tensors of static
/// shape whose elements the runtime can lay out.
LogicalResult requireLowerableTypes(Operation *op, TypeRange types);

/// The same for the operands and results of `op`.
LogicalResult requireLowerableTypes(Operation *op);

/// The same for tensors whose dimension 0 may be dynamic.
LogicalResult requireLowerableRows(Operation *op, TypeRange types);

/// Turns a start and its wait into a request. `name` is what reports call it.
LogicalResult lowerCollective(Lowering &lowering, CollectiveOpInterface start,
                              StringRef name);

/// A wait for a collective that was started in another function or iteration,
/// and all starts that it may be.
struct CarriedWait {
  WaitOp wait;
  SmallVector<Operation *> starts;
};

/// Finds such waits of `module` and their starts; an error at a wait for which
/// there is none.
FailureOr<SmallVector<CarriedWait>> findCarriedWaits(ModuleOp module);

/// Lowers `wait` once its starts are lowered; an error if what they leave in
/// their buffers is not the same.
LogicalResult lowerCarriedWait(Lowering &lowering, const CarriedWait &wait);

/// Turns the types of futures that cross boundaries into those of requests that
/// are held.
void convertFutureTypes(ModuleOp module);

LogicalResult lowerCopyIn(Lowering &lowering, AllGatherCopyInOp op);
LogicalResult lowerCopyOut(Lowering &lowering, SplitWithSizesCopyOp op);
LogicalResult lowerChunkCat(Lowering &lowering, ChunkCatOp op);
LogicalResult lowerFsdpCopy(Lowering &lowering, FsdpCopyOp op);
/// Before the copies are lowered.
void lowerStorageRead(Lowering &lowering, bufferization::ToTensorOp op);

LogicalResult lowerCompute(Lowering &lowering, ComputeOp op);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_CONVERSION_COMMSCHEDTORUNTIME_LOWERING_H
