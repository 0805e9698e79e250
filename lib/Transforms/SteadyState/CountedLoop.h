//===- CountedLoop.h - Loops with a condition that count --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns an `scf.while` whose condition compares a counter with a bound into an
// `scf.for`, and reads a `stablehlo.while` that counts, as JAX writes
// `lax.scan`, as one and writes one back. Operations of StableHLO are known by
// their names.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_STEADYSTATE_COUNTEDLOOP_H
#define COMMSCHED_LIB_TRANSFORMS_STEADYSTATE_COUNTEDLOOP_H

#include "CommSched/Analysis/Cyclic/LoopProblem.h"

namespace mlir::commsched {

/// A copy of an `scf.while` as a loop that counts.
struct CountedLoop {
  scf::ForOp loop;
  /// By result of the original; null for its counter, which has no use.
  SmallVector<Value> results;
};

/// Replaces the loop by one without the values that it yields as it takes them,
/// which become those from outside.
CountedLoop dropPassedOn(scf::ForOp loop);

/// Replaces the loop by one without the values that neither an iteration nor
/// what follows uses, and with one for those that are always equal.
scf::ForOp dropUnused(scf::ForOp loop);

/// The operations that make the bounds and the step of the loop, each once.
SmallVector<Operation *> listBounds(scf::ForOp loop);

/// Erases those of the operations that nothing uses.
void eraseUnused(ArrayRef<Operation *> operations);

/// Erases a loop that nothing uses, with the bounds that only it uses.
void eraseWithBounds(scf::ForOp loop);

/// Returns a copy of `loop`, in front of it. None, after a call of `decline`,
/// if the condition does not compare a counter with a bound, the step is not a
/// positive constant, or the counter is used behind the loop. Values that are
/// passed from iteration to iteration as they are become those from outside.
/// Linear in the operations of the loop.
std::optional<CountedLoop>
copyAsCountedLoop(scf::WhileOp loop, LoopProblem::DeclineFunction decline);

/// Why MLIR's pipeliner does not support the loop, or nothing.
std::optional<std::string> findUnsupported(scf::ForOp loop);

inline constexpr StringLiteral stableHloWhileName = "stablehlo.while";

bool isStableHloWhile(Operation *op);

/// Whether `op` repeats its regions: a loop of MLIR's, or a `stablehlo.while`.
bool isLoop(Operation *op);

/// A `stablehlo.while` that compares a counter with a constant by LT or LE, and
/// adds a positive constant to it.
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
  /// Whether the counter is compared by LE.
  bool includesEnd = false;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_STEADYSTATE_COUNTEDLOOP_H
