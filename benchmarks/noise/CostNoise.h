//===- CostNoise.h - Random deviations of costs -----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random deviations of the costs of operations: each cost is multiplied by
// exp(0.2 z - 0.02), where z is close to standard normal. The factor is
// lognormal with a mean of 1; two thirds of all factors lie between 0.80 and
// 1.20. It depends only on the name of the operation and the number of the
// draw, so that an operation costs the same in every schedule. Integer
// arithmetic makes the draws equal on all platforms.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_BENCHMARKS_NOISE_COSTNOISE_H
#define COMMSCHED_BENCHMARKS_NOISE_COSTNOISE_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <cstdint>

namespace mlir::commsched {

/// The parts from which the noise of one operation is derived.
class NoiseSource {
public:
  /// An operation of its own.
  explicit NoiseSource(StringRef name) { add(name, 1); }

  /// One that stands for several; see add().
  NoiseSource() = default;

  /// Adds the noise of the operation `name`, whose part is as large as `weight`
  /// among those of the others; not negative.
  void add(StringRef name, int64_t weight);

  /// Whether all parts are empty.
  bool isEmpty() const { return totalWeight == 0; }

  /// `costNs`, not negative, times the factor of this draw, rounded down. The
  /// factor of several is the weighted mean of theirs. 64 bits have to hold
  /// four times the cost.
  int64_t apply(int64_t costNs, uint32_t draw) const;

private:
  struct Part {
    uint64_t seed;
    int64_t weight;
  };
  SmallVector<Part, 1> parts;
  uint64_t totalWeight = 0;
};

/// The costs of the operations of the input, in nanoseconds by name.
using NamedCosts = llvm::StringMap<int64_t>;

/// The noise of an operation with this name after passes have run. Where the
/// name joins those of operations of the input by '+', as of merged operations,
/// it is the mean of theirs, weighted by their costs. Any other has its own.
NoiseSource findNoiseSource(StringRef name, const NamedCosts &input);

} // namespace mlir::commsched

#endif // COMMSCHED_BENCHMARKS_NOISE_COSTNOISE_H
