//===- StepLoop.h - A step as the body of a loop ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step that repeats is the body of a loop. This writes the loop, so that what
// analyses, schedules and pipelines loops does the same for steps.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_CYCLIC_STEPLOOP_H
#define COMMSCHED_ANALYSIS_CYCLIC_STEPLOOP_H

#include "CommSched/Analysis/Cyclic/LoopProblem.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::commsched {

/// On an operation of the loop: it stands for what a repetition is given
/// (without operands: the number of the argument of the step) or gives away
/// (with one operand: the number of the result). It takes no time.
inline constexpr StringLiteral portAttrName = "step_port";

/// What an argument of a function that repeats is.
enum class StepArgument : uint8_t {
  /// A result of the previous repetition feeds it.
  Carried,
  /// Each repetition has its own.
  Input,
  /// It is the same in all repetitions.
  Constant,
};

/// Beside a step, while this object lives: a function with the arguments of the
/// step, which repeats the step in a loop and returns the results that feed
/// arguments. The step is a function with arguments that its own results feed
/// (`commsched.carried`), or the steady state of one
/// (`commsched.steady_state`), which returns the state that it takes. In the
/// loop are the operations of the step and ports: one at the beginning for each
/// input, one at the end for each result that no argument takes. Constants
/// stand before the loop.
class StepLoop {
public:
  /// How often the loop repeats the step: more often than repetitions overlap.
  static constexpr int64_t numRepetitions = 64;

  using DeclineFunction = LoopProblem::DeclineFunction;

  /// Whether a result of the previous repetition feeds an argument of `step`.
  static bool repeats(func::FuncOp step);

  /// Whether `step` is the steady state of a step.
  static bool isSteadyState(func::FuncOp step);

  /// Creates the loop of a step that repeats. Null, after a call of `decline`,
  /// if the step is not one block. Linear in the operations.
  static std::unique_ptr<StepLoop> create(func::FuncOp step,
                                          DeclineFunction decline);
  ~StepLoop();

  func::FuncOp getStep() const { return step; }
  /// The function with the loop.
  func::FuncOp getRepeated() const { return repeated; }
  scf::ForOp getLoop() const;

  StepArgument getKind(unsigned argument) const { return kinds[argument]; }
  /// The arguments that results of the previous repetition feed: argument i of
  /// the list is initial value i of the loop.
  ArrayRef<unsigned> getCarriedArguments() const { return carriedArguments; }
  /// The result that feeds each of them.
  ArrayRef<unsigned> getCarriedResults() const { return carriedResults; }

  /// The bytes of each buffer of arguments that are the same in all
  /// repetitions. Emits an error as BlockProblem::create() does. Linear in the
  /// operations.
  FailureOr<std::vector<int64_t>> listConstantBytes() const;

  /// The operation of the step that an operation of the loop is a copy of; null
  /// for a port.
  Operation *getOriginal(Operation *op) const { return originals.lookup(op); }

private:
  explicit StepLoop(func::FuncOp step) : step(step) {}
  void readCarried();
  void readState();
  void build();

  func::FuncOp step;
  func::FuncOp repeated;
  SmallVector<StepArgument> kinds;
  SmallVector<unsigned> carriedArguments;
  SmallVector<unsigned> carriedResults;
  DenseMap<Operation *, Operation *> originals;
};

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_CYCLIC_STEPLOOP_H
