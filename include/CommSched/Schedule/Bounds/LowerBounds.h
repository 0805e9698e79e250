//===- LowerBounds.h - Lower bounds of step time ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lower bounds on the time of a step that hold for every legal order. They
// limit the distance between a schedule and the optimum.
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

/// The resource that determines a lower bound.
enum class BoundKind : uint8_t {
  /// The operations of the compute stream, with their heads and tails.
  Computation,
  /// The collectives of a communication stream, with their heads and tails.
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
/// Heads and tails exceed the longest chain of dependences where the
/// predecessors of an operation compete for the machines. The sets of all
/// ancestors of all operations would take quadratic space. Instead, each
/// operation forwards the set that it received, extended by itself, to one
/// successor. Every member of a received set is an ancestor of the receiver, so
/// the head is at least the end of the BusyPeriods of the set. A Start forwards
/// to its Wait. Other operations forward to two successors, in separate sets:
/// the one that most computation depends on and the one that least computation
/// depends on. Tails are computed likewise through predecessors.
///
/// The bound holds for any memory limit, and also under contention
/// (Simulator.h): it only assumes that each operation takes its machine for its
/// time or longer.
///
/// Error: the problem's own. O(nodes log² nodes + dependences); the square is
/// reached only if the joined sets have many busy periods.
Result<TightLowerBound> computeTightLowerBound(const Problem &problem);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_BOUNDS_LOWERBOUNDS_H
