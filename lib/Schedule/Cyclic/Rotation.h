//===- Rotation.h - Rotation of periods -------------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Moves operations from one period to the period before or after.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_CYCLIC_ROTATION_H
#define COMMSCHED_LIB_SCHEDULE_CYCLIC_ROTATION_H

#include "CommSched/Schedule/Cyclic/Period.h"
#include "PeriodGraph.h"

#include <optional>

namespace mlir::commsched::schedule {

/// A collective that starts before a cut and is waited for behind it moves
/// whole to one side.
enum class CutCollectives : uint8_t {
  /// Those that acquire memory before the cut, the others behind it.
  ByMemory,
  /// All of them before the cut.
  Before,
};

/// Rotates periods of one problem.
class Rotation {
public:
  /// `graph` has to live on.
  explicit Rotation(const PeriodGraph &graph)
      : graph(graph), body(graph.body()) {}

  /// Returns the order in which the first `cut` operations of the period run at
  /// the end of the period before. It is legal if `schedule` is, whose
  /// collectives have the stage of their waits. None if the collectives cannot
  /// be moved, or nothing is left on one side.
  /// O(nodes + dependences).
  std::optional<CyclicOrder> rotate(const CyclicOrder &schedule, size_t cut,
                                    CutCollectives collectives) const;

  /// Returns the order in which each wait that stalls in `timeline`, and of
  /// which nothing in its period needs the result, is in the next period,
  /// directly before the first operation that needs it. None if there is no
  /// such wait. O(nodes + dependences).
  std::optional<CyclicOrder> sinkWaits(const CyclicOrder &schedule,
                                       const Timeline &timeline) const;

  /// Returns the order in which computation that takes no time and makes no
  /// buffer, such as a view or what is fused into its users, has the stage of
  /// the first operation that depends on it, directly before that: else its
  /// result would be carried from one period to the next. None if there is no
  /// such operation. O(nodes log nodes + dependences).
  std::optional<CyclicOrder> sinkFree(const CyclicOrder &schedule) const;

private:
  const PeriodGraph &graph;
  const Problem &body;
};

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_CYCLIC_ROTATION_H
