//===- StableHloLoop.h - Loops of StableHLO ---------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a `stablehlo.while` that counts, as JAX writes `lax.scan`, as an
// `scf.for`, and writes one back. Operations are known by their names.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_STEADYSTATE_STABLEHLOLOOP_H
#define COMMSCHED_LIB_TRANSFORMS_STEADYSTATE_STABLEHLOLOOP_H

#include "CountedLoop.h"

namespace mlir::commsched {

inline constexpr StringLiteral stableHloWhileName = "stablehlo.while";

/// A `stablehlo.while` that compares a counter with a constant by LT, and adds
/// a positive constant to it.
class StableHloLoop {
public:
  /// None, after a call of `decline`, if the loop does not count.
  static std::optional<StableHloLoop>
  read(Operation *loop, LoopProblem::DeclineFunction decline);

  /// Returns a copy of the loop, in front of it, whose counter is one of the
  /// carried values. Values that are passed on as they are become those from
  /// outside.
  CountedLoop copy() const;

  /// Replaces `loop`, which was made from the copy, by a `stablehlo.while` with
  /// a counter of its own. The number of its iterations is static and not more
  /// than that of the original, which is still there.
  void write(scf::ForOp loop) const;

private:
  StableHloLoop() = default;

  Value makeConstant(OpBuilder &builder, Operation *like, int64_t number) const;

  Operation *original = nullptr;
  Operation *compare = nullptr;
  Operation *add = nullptr;
  Operation *firstConstant = nullptr;
  Operation *stepConstant = nullptr;
  int64_t first = 0;
  int64_t step = 1;
  int64_t count = 0;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_STEADYSTATE_STABLEHLOLOOP_H
