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
// results to the host.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_COMMSCHED_RUN_STEPRUNNER_H
#define COMMSCHED_TOOLS_COMMSCHED_RUN_STEPRUNNER_H

#include "CompiledProgram.h"
#include "Inputs.h"

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
  StepRunner(const CompiledProgram &program, const InputSettings &inputs,
             int32_t rank);

  /// Reads or makes the data that is the same in all repetitions, and that of
  /// the first, and checks that there are files for all of them.
  llvm::Error readInputs();

  /// Allocates what all repetitions share. The program is loaded.
  llvm::Error allocate();

  /// Gives the arguments the values that they have before the first repetition.
  /// `all`: the data of all repetitions is on the device before they run.
  llvm::Error restore(bool all);

  /// Runs all repetitions. Keeps the results unless `outputs` is null; those of
  /// the last call are still on the device.
  llvm::Error run(Outputs *outputs);

  /// Keeps what is left, unless `outputs` is null, and releases the results.
  llvm::Error finish(Outputs *outputs);

private:
  /// The results of one call.
  struct Frame {
    PlannedCall call;
    std::vector<DeviceValue> results;
  };

  bool isShared(const PlannedFunction &function, size_t argument) const;
  llvm::Expected<Bytes> readInput(unsigned argument, int64_t repetition) const;
  llvm::Error stage(int64_t call);
  llvm::Error takeOperands(int64_t call, std::vector<DeviceValue> &arguments);
  llvm::Error keepResults(Outputs &outputs);

  const CompiledProgram &program;
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

} // namespace mlir::commsched::run

#endif // COMMSCHED_TOOLS_COMMSCHED_RUN_STEPRUNNER_H
