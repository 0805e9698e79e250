//===- Simulator.h - When an order runs what --------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The time model: one compute stream, one in-order stream per process group.
// Operations issue in the given order with the clock of the compute stream.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_SIMULATOR_H
#define COMMSCHED_SCHEDULE_SIMULATOR_H

#include "CommSched/Schedule/Contention.h"

namespace mlir::commsched::schedule {

/// When everything happens, in nanoseconds from the start of the step.
struct Timeline {
  /// By operation. Start: when the collective begins on its stream. Wait: when
  /// the compute stream reaches it.
  std::vector<int64_t> beginNs;
  /// By operation. Start: when the collective ends on its stream. Wait: when
  /// the compute stream goes on.
  std::vector<int64_t> endNs;
  /// By operation: how long the compute stream stood still for it. The stall of
  /// a wait is stated at the wait and at its start. For a Blocking it runs from
  /// when the compute stream reaches it to its end. 0 for a Compute.
  std::vector<int64_t> exposedNs;
  /// When every stream is idle.
  int64_t stepNs = 0;
  /// Sum of the costs of all Compute.
  int64_t computeNs = 0;
  /// Sum of the costs of all collectives.
  int64_t commNs = 0;
  /// stepNs - computeNs. Also the sum of the stalls and of slowdownNs, since
  /// every collective is waited for.
  int64_t exposedCommNs = 0;
  /// By how much computation takes longer than its costs.
  int64_t slowdownNs = 0;
};

/// Runs the operations in `order`:
///   - Compute: adds its cost to the compute clock t,
///   - Start: begins at max(t, clock of its stream) and sets the stream's clock
///     to its end; t stays,
///   - Wait: sets t to max(t, end of its start),
///   - Blocking: begins at max(t, clock of its stream) and sets both to its
///     end.
/// Error: the problem has one, the order does not have each operation once, or
/// a wait comes before its start. Other dependences are verify()'s matter and
/// are not looked at. O(nodes).
Result<Timeline> simulate(const Problem &problem, const Order &order);

/// The same where operations that run at once slow each other down:
///   - a collective begins when its stream is free and all collectives have
///     ended that were issued before it on streams that are exclusive with its
///     own. One that has to wait holds up those issued after it, so that two
///     such streams take turns in the order in which collectives are issued;
///   - of k collectives in flight over one link each progresses at a k-th of
///     its speed;
///   - while a collective is in flight, computation progresses by one
///     nanosecond of its cost in 1 + computeSlowdownPpm / 10^6 nanoseconds.
/// Whatever ends between two nanoseconds ends at the later one, and the share
/// in a link changes only then; so nothing takes less time than in the plain
/// simulation, and everything as much if nothing runs at once. Progress is
/// exact up to 16 collectives on a link; among more it is rounded down to the
/// 720,720th of a nanosecond whenever one begins or ends.
///
/// Error: as above; that of check() on `contention`; the times might not fit 64
/// bits. With contention.isNone() as fast as above; else
/// O((nodes + pairs) * log nodes), where pairs counts for each collective the
/// streams that its own is exclusive with.
Result<Timeline> simulate(const Problem &problem, const Order &order,
                          const Contention &contention);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_SIMULATOR_H
