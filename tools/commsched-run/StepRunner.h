//===- StepRunner.h - Calls of a step on one rank ---------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs all repetitions of a program's step on one rank: gives each call its
// arguments, keeps what later calls take until the last of them, and copies
// results to the host. Compares the outputs of two programs, element by
// element.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_COMMSCHED_RUN_STEPRUNNER_H
#define COMMSCHED_TOOLS_COMMSCHED_RUN_STEPRUNNER_H

#include "CompiledProgram.h"

#include <deque>

namespace mlir::commsched::run {

/// A value in memory of the runtime.
struct DeviceValue {
  /// The memory, which is released with its last owner; null for scalars.
  std::shared_ptr<void> buffer;
  /// Where the elements begin in it.
  char *data = nullptr;
  /// The bytes of a scalar.
  Bytes scalar;

  explicit operator bool() const { return buffer || !scalar.empty(); }
};

/// What a run returns.
struct Outputs {
  /// By repetition and result; those for which StepPlan::isKept() holds.
  std::map<std::pair<int64_t, unsigned>, Bytes> results;
  /// By argument of the step; empty for all but memrefs whose content means
  /// something.
  std::vector<Bytes> arguments;
};

class StepRunner {
public:
  /// The functions of the plan are compiled.
  StepRunner(const StepPlan &plan, const InputSettings &inputs, int32_t rank);

  /// Reads or makes the data that is the same in all repetitions, and that of
  /// the first, and checks that there are files for all of them.
  LogicalResult readInputs();

  /// Allocates what all repetitions share. The program is loaded.
  LogicalResult allocateShared();

  /// Gives the arguments the values that they have before the first repetition.
  /// `all`: the data of all repetitions is on the device before they run.
  LogicalResult restore(bool all);

  /// Runs all repetitions. Keeps the results unless `outputs` is null; those of
  /// the last call are still on the device.
  LogicalResult run(Outputs *outputs);

  /// Keeps what is left, unless `outputs` is null, and releases the results.
  LogicalResult finish(Outputs *outputs);

private:
  /// The results of one call.
  struct Frame {
    PlannedCall call;
    std::vector<DeviceValue> results;
  };

  bool isShared(const Argument &argument) const;
  LogicalResult readInput(unsigned argument, int64_t repetition,
                          Bytes &data) const;
  LogicalResult stage(int64_t call);
  LogicalResult takeOperands(int64_t call, std::vector<DeviceValue> &values);
  LogicalResult keepResults(Outputs &outputs);

  const StepPlan &plan;
  const InputSettings &inputs;
  int32_t rank;
  /// By argument of the step: the values that repetitions do not replace.
  std::vector<Bytes> initial;
  /// By argument of the step, if it has one storage in all repetitions.
  std::vector<DeviceValue> shared;
  /// The data of the next calls.
  std::deque<std::vector<DeviceValue>> staged;
  Frame last;
};

/// Ranks exchange it.
struct Difference {
  int64_t numElements = 0;
  int64_t numDifferent = 0;
  /// The first place: a result of a repetition, or an argument (-1); and the
  /// element in row-major order.
  int64_t repetition = -1;
  int64_t index = -1;
  int64_t element = -1;
  /// The bytes of the two elements.
  std::array<int64_t, 2> left = {}, right = {};
};

/// Fails, with a text that names both programs, unless they take and give the
/// same types, and the same of them in each repetition.
llvm::Error checkComparable(const CompiledProgram &left,
                            const CompiledProgram &right);

/// Compares the outputs of programs of that plan.
Difference compareOutputs(const StepPlan &plan, const Outputs &left,
                          const Outputs &right,
                          std::optional<double> tolerance);

/// One line for people, of the findings of all ranks.
std::string describeComparison(const CompiledProgram &left,
                               const CompiledProgram &right,
                               ArrayRef<Difference> ranks);

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_COMMSCHED_RUN_STEPRUNNER_H
