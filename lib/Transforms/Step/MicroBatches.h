//===- MicroBatches.h - Micro-batches in one function -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step with an optimizer, whose other parts run for several micro-batches.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_STEP_MICROBATCHES_H
#define COMMSCHED_LIB_TRANSFORMS_STEP_MICROBATCHES_H

#include "CommSched/Analysis/Costs/OperationCosts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"
#include <optional>

namespace mlir::commsched {

/// The operations of a function that repeats and calls its parts.
struct AccumulatedStep {
  func::FuncOp step;
  /// Run for each micro-batch: they take inputs, such as forward and backward.
  SmallVector<Operation *> repeated;
  /// Run once, such as the optimizer: what the next repetition takes depends on
  /// them, or they depend on such a one.
  SmallVector<Operation *> updates;
  /// Run once, and micro-batches may take their results.
  SmallVector<Operation *> shared;
  /// The results of repeated operations that updates take.
  llvm::SetVector<Value> taken;
  /// Operands of updates and of the end of the step, and the values that these
  /// are if functions pass them through.
  SmallVector<std::pair<OpOperand *, Value>> passed;
  /// By result of the step: whether each micro-batch has one.
  SmallVector<bool> isOfEach;
};

using DeclineFunction = function_ref<void(Location, const Twine &)>;

/// Divides the step of the module. None, after a call of `decline`, if there is
/// none or more than one, if nothing repeats or nothing is updated, if an
/// update takes an input, or a value that cannot be added up: it is no tensor
/// of floating-point numbers.
std::optional<AccumulatedStep> divideStep(ModuleOp module,
                                          const SymbolTable &symbols,
                                          DeclineFunction decline);

/// The most micro-batches of a step.
inline constexpr int64_t mostMicroBatches = 64;

/// How many micro-batches the step has itself: the iterations of loops around
/// calls of its parts. None, after a call of `decline`, if it has no such loop,
/// or if the bounds of one are no constants or have other than 1 to
/// mostMicroBatches iterations.
std::optional<int64_t> countMicroBatches(const AccumulatedStep &divided,
                                         const SymbolTable &symbols,
                                         DeclineFunction decline);

/// Whether a loop around calls of parts, which gather or reduce, has other than
/// 1 to mostMicroBatches iterations, or as many as is known when it runs: one
/// that stays, with what moves out of it. Linear in the operations of the
/// parts.
bool hasKeptLoop(const AccumulatedStep &divided, const SymbolTable &symbols);

/// Replaces the loops in `body` that call parts by their iterations. A sum that
/// began at zero begins with its first summand then.
void unrollMicroBatches(Block &body, const SymbolTable &symbols);

/// Moves gathers of what no iteration changes before the loops of the body of
/// `function`, those that take longest first, as long as the function's peak is
/// within `limitBytes`. What findTied() returns stays. O(operations) for each
/// of them.
LogicalResult hoistGathers(func::FuncOp function, OperationCosts &costs,
                           int64_t limitBytes);

/// Adds up, in the loops of the body of `function`, what they scatter, and
/// scatters the sums behind them. Linear in the operations.
void sinkReductions(func::FuncOp function);

/// The micro-batches of a step.
class MicroBatches {
public:
  /// If `count` is 1, they are those that the step has itself, and `keepsLoops`
  /// says whether its loops stay.
  MicroBatches(const AccumulatedStep &divided, unsigned count, bool keepsLoops);

  /// Creates the private function `name`, in no module yet, which runs the
  /// repeated operations for all micro-batches, one after the other. Its
  /// arguments are what they take in the first micro-batch, and of each further
  /// one the inputs. Its results are first what the updates take, in the order
  /// of `taken`, as sums over the micro-batches; then, by result of the step,
  /// what each micro-batch returns, such as the loss. Loops of the step that
  /// are its micro-batches and do not stay are replaced by their iterations.
  /// Linear in the operations of the result.
  func::FuncOp create(StringRef name, const SymbolTable &symbols);

  /// Makes the step call `function`, which create() has made, in place of the
  /// repeated operations. It takes the inputs of further micro-batches behind
  /// its other arguments, and returns what each micro-batch returns.
  void replace(func::FuncOp function) const;

private:
  void returnResults(func::FuncOp function, ArrayRef<IRMapping> mappings,
                     OpBuilder &builder) const;
  SmallVector<Value> addInputs() const;
  void returnOfEach(func::CallOp call) const;

  const AccumulatedStep &divided;
  unsigned count;
  bool keepsLoops;
  /// What the repeated operations take of the step, and the inputs among that.
  SmallVector<Value> operands;
  SmallVector<BlockArgument> inputs;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_STEP_MICROBATCHES_H
