//===- SeparatedStarts.h - Starts that wait for their link ------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The scheduler starts collectives as early as it can. On one stream that does
// no harm, as they wait for each other; on two streams of one link the later
// one takes bandwidth from the one that is needed first.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_IMPLEMENTATIONS_SEPARATEDSTARTS_H
#define COMMSCHED_LIB_SCHEDULE_IMPLEMENTATIONS_SEPARATEDSTARTS_H

#include "CommSched/Schedule/Model/Simulator.h"

namespace mlir::commsched::schedule {

/// Returns `order` with starts moved back to where their link is free: to the
/// operation of the compute stream during which they would begin if streams of
/// one link were exclusive. Returns `order`
/// itself where the result is not legal, or where more than 64 streams share a
/// link. Error: that of simulate(). O(nodes * log nodes).
Result<Order> separateStarts(const Problem &problem, const Order &order,
                             const Contention &contention);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_IMPLEMENTATIONS_SEPARATEDSTARTS_H
