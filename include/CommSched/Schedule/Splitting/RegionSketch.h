//===- RegionSketch.h - Gain of splitting one region ------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a region takes by itself, whole and in chunks. It chooses the number of
// chunks for all regions of one kind without scheduling a program for each.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_SPLITTING_REGIONSKETCH_H
#define COMMSCHED_SCHEDULE_SPLITTING_REGIONSKETCH_H

#include "CommSched/Schedule/Bounds/LowerBounds.h"
#include "CommSched/Schedule/Splitting/SplitProblem.h"

namespace mlir::commsched::schedule {

/// A region, either whole or in chunks, with nothing beside it.
struct RegionTime {
  /// From its first operation until all streams are idle.
  int64_t stepNs = 0;
  /// Of its operations, with slices and wholes. The busiest stream is one of
  /// the original problem.
  LowerBound bound;

  /// The resource that keeps the region from taking less: the largest part of
  /// the bound, of equal ones the first.
  BoundKind boundBy() const;
};

struct RegionSketch {
  RegionTime whole;
  RegionTime split;
  /// By how much each stream of the region, in ascending order, is busy.
  struct StreamTime {
    StreamId stream;
    int64_t wholeNs;
    int64_t splitNs;
  };
  std::vector<StreamTime> streams;

  /// By how much the region takes less in chunks; negative if it takes more.
  int64_t gainNs() const { return whole.stepNs - split.stepNs; }
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
