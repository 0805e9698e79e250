//===- CollectiveOrders.h - Search for orders of collectives ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of the collectives of a region in chunks decides how much of them
// is hidden. List scheduling keeps no stream idle while a collective is ready;
// but it may be better to wait for the next chunk of the collective behind a
// short computation, so that a long computation begins earlier.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_SPLITTING_COLLECTIVEORDERS_H
#define COMMSCHED_LIB_SCHEDULE_SPLITTING_COLLECTIVEORDERS_H

#include "../Step/ListScheduling.h"

namespace mlir::commsched::schedule {

/// The starts of `problem` as they come in `order`.
Order listStarts(const Problem &problem, const Order &order);

/// Replaces `best` by a shorter order: moves single collectives among the
/// others as long as that makes the problem shorter, it is longer than `goalNs`
/// and `effort`, the number of operations that may be scheduled, lasts, which
/// decreases. O(effort * log(nodes)).
void improveCollectives(const Problem &problem, int64_t goalNs, int64_t &effort,
                        RankedOrder &best);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_SPLITTING_COLLECTIVEORDERS_H
