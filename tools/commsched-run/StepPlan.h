//===- StepPlan.h - Calls of a step that repeats ----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which functions are called in which order, and what their arguments and
// results are:
//   - without a number of repetitions: the entry function, once;
//   - a step, of which the functions that it calls have become a part: once in
//     every repetition;
//   - a step with a steady state: the prologue, the steady state and the
//     epilogue.
// From outside all are one step.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_COMMSCHED_RUN_STEPPLAN_H
#define COMMSCHED_TOOLS_COMMSCHED_RUN_STEPPLAN_H

#include "Values.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::commsched::run {

/// An argument of a function: what the call before returned or, if there has
/// been none, data.
struct Argument {
  ValueType type;
  /// Whether its content means nothing after the step: a parameter whose
  /// storage the program itself grows and frees.
  bool scratch = false;
  /// Whether the function may overwrite it: its storage may be freed.
  bool isFreeable = false;
  /// Of the step: each repetition has data of its own.
  bool isInput = false;
  /// The result of the call before; none: it is data.
  std::optional<unsigned> fedBy;
  /// The argument of the step whose data it is.
  unsigned argument = 0;
  /// Of which repetition, counted from PlannedCall::firstTaken.
  int64_t repetition = 0;
};

struct PlannedResult {
  ValueType type;
  /// Of the step: it feeds an argument of the next repetition. What the last
  /// repetition returns counts.
  bool isCarried = false;
  /// The result of the step that it is; none for what only other calls take.
  std::optional<unsigned> result;
  /// Of which repetition, counted from PlannedCall::firstReturned.
  int64_t repetition = 0;
};

struct PlannedFunction {
  func::FuncOp function;
  std::string name;
  std::vector<Argument> arguments;
  std::vector<PlannedResult> results;
  /// What it has been compiled to.
  void (*code)(void **) = nullptr;
};

struct PlannedCall {
  const PlannedFunction *function = nullptr;
  int64_t firstTaken = 0;
  int64_t firstReturned = 0;
};

struct StepPlan {
  /// Of the module, the public function `entry`; if that is empty, the only
  /// public one with a body, or of several the only one with collectives, apart
  /// from parts of steady states. What it calls has become a part of it.
  /// `repetitions` is at least 1.
  /// Fails, with a text that follows the name of the file, if it is not clear
  /// what to run, or if a steady state lacks a function or does not take or
  /// return what the step does.
  static llvm::Expected<StepPlan> create(ModuleOp module, StringRef entry,
                                         std::optional<int64_t> repetitions);

  /// The whole step, as it is from outside.
  PlannedFunction step;
  /// What is called.
  std::vector<PlannedFunction> functions;
  /// Of a steady state, how many repetitions a period has in flight; otherwise
  /// 1.
  int64_t depth = 1;
  /// None: the step is run once, and that is all.
  std::optional<int64_t> repetitions;

  int64_t getNumRepetitions() const { return repetitions.value_or(1); }
  int64_t getNumCalls() const;
  PlannedCall getCall(int64_t index) const;

  /// Whether a result of a repetition counts.
  bool isKept(unsigned result, int64_t repetition) const {
    return !step.results[result].isCarried ||
           repetition + 1 == getNumRepetitions();
  }
};

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_COMMSCHED_RUN_STEPPLAN_H
