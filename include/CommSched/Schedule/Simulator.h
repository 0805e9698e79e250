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

#include "CommSched/Schedule/Problem.h"

namespace commsched {

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
  /// stepNs - computeNs. Also the sum of the stalls, since every collective is
  /// waited for.
  int64_t exposedCommNs = 0;
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

} // namespace commsched

#endif // COMMSCHED_SCHEDULE_SIMULATOR_H
