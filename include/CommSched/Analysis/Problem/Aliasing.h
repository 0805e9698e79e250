//===- Aliasing.h - Storage that results share ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The storage of the results of an operation, as its interfaces state it: that
// of a view's source, that of a destination, that of what a loop starts with,
// one of its own, or unknown.
//
// Three kinds of operations make views, and they differ:
//   - every result is a view or is written in place (allResultsAlias),
//   - every result is a view (makesOnlyViews),
//   - nothing is copied, so that it takes no time (isFreeView).
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_PROBLEM_ALIASING_H
#define COMMSCHED_ANALYSIS_PROBLEM_ALIASING_H

#include "mlir/IR/Value.h"

namespace mlir::commsched {

/// Calls `visit` for what `op` and the operations in its regions read of the
/// block around it: its operands, and the values that the regions capture.
void visitReads(Operation *op, function_ref<void(Value)> visit);

/// The value whose storage `result` is a view of or is written into; null when
/// it has a storage of its own, or when nothing is known.
Value getAliasedValue(OpResult result);

/// The operand whose storage `result`, which `getAliasedValue` gives none, may
/// be written into if nothing else needs that storage any more; null if there
/// is none. Of loops see getCarriedValues().
OpOperand *getOverwrittenOperand(OpResult result);

/// Whether `result` may live in the storage of an operand, of a value that its
/// regions capture, or anywhere, and `getAliasedValue` does not say in which.
bool mayAliasUnknown(OpResult result);

/// Whether `op` has results, and all of them live in the storage of another
/// value, as views or since they are written in place.
bool allResultsAlias(Operation *op);

/// Whether `op` has results, and all of them are views. An operation that
/// writes a destination makes none.
bool makesOnlyViews(Operation *op);

/// Whether `op` has no regions, views the storage of its operands and copies
/// nothing, so that it takes no time. Unlike an operation that makes only
/// views, it may give numbers beside the view, as
/// memref.extract_strided_metadata does.
bool isFreeView(Operation *op);

/// One value that a loop carries.
struct CarriedValue {
  /// What the loop starts with.
  OpOperand *init = nullptr;
  /// What the loop ends with.
  OpResult result;
  /// Whether every iteration passes on what it gets, so that the result is what
  /// the loop starts with.
  bool isPassedOn = false;
};

/// What `op` carries, in the order of its results; empty if it is no loop. The
/// iterations and results of a loop that an interface does not relate to what
/// it starts with are not carried. Linear in the operands.
SmallVector<CarriedValue> getCarriedValues(Operation *op);

/// Whether `block` is in a region of a loop and what it ends with takes the
/// place of all of its arguments, so that nothing needs an argument after its
/// last use in the block.
bool replacesArguments(Block &block);

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_PROBLEM_ALIASING_H
