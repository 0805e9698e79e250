//===- SimpleOverlap.h - Overlap without cost estimates ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Overlaps communication without cost estimates: starts move up and waits move
// down as far as dependences and the program's own peak memory allow. No other
// operation moves, and collectives keep their order, as in simple_overlap of
// PyTorch Inductor (2026).
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_REORDERING_SIMPLEOVERLAP_H
#define COMMSCHED_SCHEDULE_REORDERING_SIMPLEOVERLAP_H

#include "CommSched/Schedule/Inductor/IterativeReordering.h"

namespace mlir::commsched::schedule {

/// First every start, the first of the program first, moves up to the nearest
/// of
///   - what it depends on,
///   - another collective,
///   - what it cannot pass without a higher peak than the program's.
/// Then every wait, the last first, moves down to the nearest of
///   - what depends on it,
///   - what it cannot pass without such a peak,
/// but not if it would only pass other waits, which has no benefit.
///
/// No step gets longer by it, whatever the costs are. Each move takes a wait or
/// a start past one operation in the direction in which, under simulate(), the
/// compute stream and all other streams are done no later than before: a start
/// that issues earlier begins no later, and a wait that comes later holds up
/// less; all that follows is monotone in when the streams are done. The answer
/// is verified all the same, by simulating both orders.
///
/// A second run moves nothing, provided that waits make no buffers: moves then
/// only make more of them live beside each operation, so that what memory
/// stopped once it stops again.
///
/// Starts from the program's order, which has to be legal. The entries of
/// `collectives` are those of all starts and then of all waits.
/// O((nodes + dependences + uses) log n) on average.
Result<IterativeReordering> overlapSimply(const Problem &problem);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_REORDERING_SIMPLEOVERLAP_H
