//===- LowerBounds.h - Lower bounds of step time ----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A bound on the time of a step that holds for every legal order, so that a
// user sees how far a schedule is from the best possible.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_BOUNDS_LOWERBOUNDS_H
#define COMMSCHED_SCHEDULE_BOUNDS_LOWERBOUNDS_H

#include "CommSched/Schedule/Model/Problem.h"

#include <algorithm>

namespace mlir::commsched::schedule {

/// Three reasons why a step cannot be shorter, in nanoseconds.
struct LowerBound {
  /// The compute stream runs all Compute one after another.
  int64_t computeNs = 0;
  /// The busiest communication stream runs all its collectives one after
  /// another.
  int64_t streamNs = 0;
  /// The busiest stream (the first of several), or noStream if there is none.
  StreamId busiestStream = noStream;
  /// The longest chain of operations that depend on each other.
  int64_t criticalPathNs = 0;

  /// The bound: the largest of the three.
  int64_t ns() const { return std::max({computeNs, streamNs, criticalPathNs}); }
};

/// The bound for `problem`. Error: the problem's own. O(nodes + dependences).
Result<LowerBound> computeLowerBound(const Problem &problem);

/// Why a step cannot be shorter.
enum class BoundKind : uint8_t {
  /// What the compute stream has to run, and what surrounds that.
  Computation,
  /// What a communication stream has to run, and what surrounds that.
  Stream,
  /// A chain of operations that depend on each other.
  CriticalPath,
};

struct TightLowerBound {
  /// No legal order takes less time, in nanoseconds.
  int64_t ns = 0;
  /// Of several streams whose bound it is, the one with most to run; a chain
  /// if it is longer than that.
  BoundKind kind = BoundKind::Computation;
  /// The communication stream, or noStream.
  StreamId stream = noStream;
};

/// The bound for `problem`: at least that of computeLowerBound().
///
/// A machine is the compute stream or a communication stream; a Blocking is on
/// both. Each operation on a machine has a head and a tail: how long after the
/// beginning of the step it begins at the earliest, and how long before the end
/// of the step it ends at the latest, in any legal order. The bound of a
/// machine is computePreemptiveEnd() of that.
///
/// Heads and tails are more than the longest chain of dependences: all that
/// has to precede an operation has shared the machines, too. All ancestors of
/// all operations are too many to look at, but those that operations pass on to
/// one successor each, so that each joins what it was passed and passes it on
/// with itself, are ancestors of whom they reach, and before that the machines
/// need the time of their BusyPeriods. A Start passes to its Wait. Others pass
/// to two successors, in separate sets: to the one that most computation
/// depends on and to the one that least does. Tails likewise, through
/// predecessors.
///
/// It holds whatever the memory is, and also where operations slow each other
/// down (Contention.h): it uses no more than that each takes its machine for
/// its time or longer.
///
/// Error: the problem's own. O(nodes log² nodes + dependences); the square is
/// reached only if what is joined has many busy periods.
Result<TightLowerBound> computeTightLowerBound(const Problem &problem);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_BOUNDS_LOWERBOUNDS_H
