//===- RegionSketch.h - Gain of splitting one region ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a region takes by itself, whole and in chunks. It chooses the number of
// chunks for all regions of one kind without scheduling a program for each.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_SPLITTING_REGIONSKETCH_H
#define COMMSCHED_SCHEDULE_SPLITTING_REGIONSKETCH_H

#include "CommSched/Schedule/Splitting/SplitProblem.h"

namespace mlir::commsched::schedule {

/// The time of a region with nothing beside it, whole and in chunks: from its
/// first operation until all streams are idle.
struct RegionSketch {
  int64_t wholeNs = 0;
  int64_t splitNs = 0;

  /// By how much the region takes less in chunks; negative if it takes more.
  int64_t gainNs() const { return wholeNs - splitNs; }
};

/// Simulates the members of `spec`, whole and in chunks, each in the better of
/// two orders: that of the program (in chunks, of SplitProblem::place()), and
/// list scheduling by it. All that comes from outside is ready at the
/// beginning, and a path that leaves the region and returns to it holds nothing
/// up.
///
/// Error: that of SplitProblem::create() for the region alone, in its own
/// indices. O((members + their
/// dependences + uses) * chunks * log(members * chunks)): the rest of the
/// problem is not visited.
Result<RegionSketch> sketchRegion(const Problem &problem,
                                  const SplitSpec &spec);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_SPLITTING_REGIONSKETCH_H
