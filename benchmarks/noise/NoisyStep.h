//===- NoisyStep.h - A scheduled step under noise ---------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Simulates the functions of a scheduled module one after the other, with the
// expected costs and with random ones. The order stays the same; waits stall
// longer or shorter.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_BENCHMARKS_NOISE_NOISYSTEP_H
#define COMMSCHED_BENCHMARKS_NOISE_NOISYSTEP_H

#include "CommSched/Schedule/Model/Problem.h"
#include "CostNoise.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::commsched {

/// Names every operation of the functions that has no name: after its kind and
/// its place among all operations of the module.
void nameOperations(ModuleOp module);

class NoisyStep {
public:
  /// Reads the functions of one block. `input` are the costs of the program
  /// before any pass; operations that have lost their names are named after
  /// their kind and how many of it came before. Emits an error when a cost or
  /// size is not known.
  static FailureOr<NoisyStep> create(ModuleOp module, const NamedCosts &input);

  /// Reads the costs of the operations by name. The first of equal names
  /// counts.
  static FailureOr<NamedCosts> readCosts(ModuleOp module);

  /// The time of the step without noise, in nanoseconds.
  int64_t getNominalNs() const { return nominalNs; }

  /// The largest peak of live bytes of a function. Noise does not change it.
  int64_t getPeakBytes() const { return peakBytes; }

  int64_t getNumCollectives() const { return numCollectives; }

  /// The time of the step with the costs of this draw.
  int64_t simulate(uint32_t draw) const;

private:
  struct Function {
    schedule::Problem problem;
    /// By node.
    std::vector<NoiseSource> noise;
  };

  std::vector<Function> functions;
  int64_t nominalNs = 0;
  int64_t peakBytes = 0;
  int64_t numCollectives = 0;
};

} // namespace mlir::commsched

#endif // COMMSCHED_BENCHMARKS_NOISE_NOISYSTEP_H
