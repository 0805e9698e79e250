//===- Trial.h - Alternatives for blocks and functions ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An alternative that may be dropped lives in a module of its own, which says
// the same of costs and groups as that of the program: nothing finds it, and a
// pass on functions may make one. It is read as the program is, and then
// adopted or dropped. A block is tried as a Trial, a function in a module for
// trials.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_TRIAL_H
#define COMMSCHED_LIB_TRANSFORMS_TRIAL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::commsched {

/// A module with the attributes of the one that `op` is, or is in, and with its
/// symbols without regions, such as groups. Linear in the operations of that
/// module without their regions.
OwningOpRef<ModuleOp> createTrialModule(Operation *op);

/// A copy of one block.
class Trial {
public:
  /// Copies `block`, which is in `function` and whose values no other block
  /// uses. What it uses from outside, the copy has as arguments of a block
  /// around it, so that the values have no more users than before. Linear in
  /// the operations of the block and the module.
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
  OwningOpRef<ModuleOp> module;
  /// What the copy is a block of: the function, or an operation in it.
  Operation *parent = nullptr;
  Block *copy = nullptr;
  IRMapping copies;
  SmallVector<std::pair<Value, Value>> originals;
  Block replaced;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_TRIAL_H
