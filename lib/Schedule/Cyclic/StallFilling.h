//===- StallFilling.h - Computation for the stalls of a period --*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Moves computation that little depends on, such as gradients of weights, from
// before the stalls of a period into them. The circle through the first gather
// and the last reduction of a training step has such stalls: what else is ready
// there has been computed before.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_CYCLIC_STALLFILLING_H
#define COMMSCHED_LIB_SCHEDULE_CYCLIC_STALLFILLING_H

#include "CommSched/Schedule/Cyclic/Period.h"
#include "PeriodGraph.h"

#include <optional>

namespace mlir::commsched::schedule {

/// Returns the order in which computation runs in the largest stalls of
/// `timeline`, those of one period of `schedule` that are near each other. It
/// is taken from before them, from as near as possible but at least
/// `distanceNs` of computation away: what is near may be needed soon in the
/// next period. What depends on it moves behind the stalls. The order is legal
/// if `schedule` is. None if there are no stalls, or nothing can move into
/// them. O(nodes + dependences).
std::optional<CyclicOrder> fillPeriodStalls(const PeriodGraph &graph,
                                            const CyclicOrder &schedule,
                                            const Timeline &timeline,
                                            int64_t distanceNs);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_CYCLIC_STALLFILLING_H
