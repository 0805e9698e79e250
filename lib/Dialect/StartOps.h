//===- StartOps.h - Shared parts of collective starts -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Helpers of the operations' implementations: effects, look-up of the process
// group, and the constraints that several collectives have in common. Each
// takes the constraint's number, since the numbers differ between operations.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_DIALECT_STARTOPS_H
#define COMMSCHED_LIB_DIALECT_STARTOPS_H

#include "CommSched/Dialect/CommSchedDialect.h"

namespace mlir::commsched::detail {

/// Appends the effects of a start: a write to its group's communication
/// resource, and to the buffers that it fills in place.
void addStartEffects(CollectiveOpInterface start,
                     SmallVectorImpl<MemoryEffects::EffectInstance> &effects);

/// A write to the communication resource of `group`, the symbol of a group or
/// a stream, or of an unknown group if it is null.
MemoryEffects::EffectInstance getGroupEffect(Attribute group);

/// Creates a start with the inherent attributes of `start`, a collective that
/// may be merged, that sends `sent`, delivers `delivered` and writes into no
/// given buffer.
Operation *createMergedStart(Operation *start, OpBuilder &builder,
                             Location location, ValueRange sent,
                             TypeRange delivered);

/// The dimension of the operand that is divided among the ranks, and that of
/// the result that is put together from them; negative if there is none.
struct RankDimensions {
  int64_t ofOperand = -1;
  int64_t ofResult = -1;
  /// The ranks have parts of different sizes, so that chunks of the parts have
  /// none that are equal on all ranks.
  bool isUneven = false;
};
RankDimensions getRankDimensions(Operation *start);

/// The axes of `start`, a transfer of one tensor: every dimension of static
/// size, without what is divided among the ranks or put together from them.
SplitRule getTransferSplitRule(Operation *start);

/// Creates a start like `start` that delivers `delivered`.
Operation *createTransferChunk(Operation *start, OpBuilder &builder,
                               ValueRange operands, TypeRange delivered);

/// The default bucket key of `start`, and `more`, in which null stands for an
/// attribute that is absent.
Attribute getBucketKeyWith(Operation *start, ArrayRef<Attribute> more);

/// The rows of `pairs`, of a permute, in the order of their sources.
Attribute sortPairs(ElementsAttr pairs);

/// Like `lookupGroup`, but emits an error at `op` (C1).
FailureOr<GroupOp> requireGroup(Operation *op, FlatSymbolRefAttr symbol,
                                SymbolTableCollection &symbolTables);

FailureOr<ProcessGroup> lookupProcessGroup(Operation *op,
                                           FlatSymbolRefAttr symbol,
                                           SymbolTableCollection &symbolTables);

/// There is at least one operand and a delivered type for each.
LogicalResult verifyArity(Operation *op, TypeRange inputs,
                          ArrayRef<Type> delivered, StringRef constraint);

/// There is at least one operand and a delivered type for each (C2), and the
/// two of each pair have one element type and rank.
LogicalResult verifySameElementTypeAndRank(Operation *op, TypeRange inputs,
                                           ArrayRef<Type> delivered,
                                           StringRef constraint);

/// There is at least one operand and a delivered type for each (C2), and the
/// two of each pair are equal.
LogicalResult verifySameTypes(Operation *op, TypeRange inputs,
                              ArrayRef<Type> delivered, StringRef constraint);

/// `dim` is a dimension of every operand.
LogicalResult verifyDimension(Operation *op, StringRef name, int64_t dim,
                              TypeRange inputs, StringRef constraint);

/// The `into` buffers are absent, or have the delivered types.
LogicalResult verifyInto(Operation *op, ValueRange into,
                         ArrayRef<Type> delivered, StringRef constraint);

/// If `value` is in the memory of the host, only operations that may use such
/// values do.
LogicalResult verifyHostUses(Value value, StringRef constraint);

/// The reduction is defined for every operand's element type.
LogicalResult verifyReduction(Operation *op, ReductionKind reduction,
                              TypeRange inputs, StringRef constraint);

/// `rank` is a rank of `group`.
LogicalResult verifyRank(Operation *op, StringRef name, int64_t rank,
                         GroupOp group, StringRef constraint);

} // namespace mlir::commsched::detail

#endif // COMMSCHED_LIB_DIALECT_STARTOPS_H
