//===- Trial.h - Alternatives for blocks and functions ----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An alternative that may be dropped lives in a function that is in no module:
// nothing finds it, and a pass on functions may make one. Symbols in it resolve
// in the module of the CostAnalysis that prices it. A function is tried as an
// OwningOpRef of a clone, a block as a Trial.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_TRIAL_H
#define COMMSCHED_LIB_TRANSFORMS_TRIAL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::commsched {

/// A copy of one block.
class Trial {
public:
  /// Copies `block`, which is in `function` and whose values no other block
  /// uses. What it uses from outside, the copy has as arguments of a block
  /// around it, so that the values have no more users than before.
  /// O(operations of the block).
  Trial(func::FuncOp function, Block &block);
  ~Trial() = default;
  Trial(const Trial &) = delete;
  Trial &operator=(const Trial &) = delete;

  /// The copy. May be rewritten.
  Block &getBlock() { return *copy; }
  /// From the operations and values of the block to their copies.
  const IRMapping &getCopies() const { return copies; }

  /// Replaces the operations of the block by those of the copy, once. Those
  /// that are replaced live as long as the trial, without operands.
  void adopt();

private:
  Block &block;
  OwningOpRef<func::FuncOp> function;
  /// What the copy is a block of: the function, or an operation in it.
  Operation *parent = nullptr;
  Block *copy = nullptr;
  IRMapping copies;
  SmallVector<std::pair<Value, Value>> originals;
  Block replaced;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_TRIAL_H
