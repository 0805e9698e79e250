//===- Frontier.h - Step time against peak memory ---------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Determines how much time more memory saves: a block is scheduled for several
// budgets, and points that take both more time and more memory than another
// are dropped.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_SCHEDULE_FRONTIER_H
#define COMMSCHED_LIB_TRANSFORMS_SCHEDULE_FRONTIER_H

#include "BlockScheduler.h"

#include <mutex>

namespace mlir::commsched {

/// One schedule of a step.
struct FrontierPoint {
  /// The budget that it was made for; none if there was no limit.
  std::optional<int64_t> budgetBytes;
  /// More than the budget if nothing that is known fits it.
  int64_t peakBytes = 0;
  int64_t stepNs = 0;
  int64_t lowerBoundNs = 0;
  int64_t exposedNs = 0;
  int64_t numCollectives = 0;
};

/// The points of one function, from the least memory to the most.
struct Frontier {
  std::string function;
  std::vector<FrontierPoint> points;
};

/// Leaves those points between which there is to choose: with every further one
/// memory goes up and the step gets shorter. Of equal ones the one with the
/// smallest budget stays. O(n log n).
void keepFrontier(std::vector<FrontierPoint> &points);

/// Schedules a block for percentages over its baseline, without a limit, and
/// for `limitBytes`, for which `chosen` is the schedule.
FailureOr<std::vector<FrontierPoint>> sweepBudgets(BlockScheduler &scheduler,
                                                   const BlockSchedule &chosen,
                                                   int64_t limitBytes);

/// Prints one object for each point, as an array of JSON, or one line, under
/// one with the names of the columns, as CSV.
void printFrontiersAsJson(ArrayRef<Frontier> frontiers, raw_ostream &os);
void printFrontiersAsCsv(ArrayRef<Frontier> frontiers, raw_ostream &os);

/// Shared by all copies of one pass.
class FrontierFile {
public:
  /// `path` may be `-` for standard output.
  explicit FrontierFile(StringRef path) : path(path) {}

  /// Takes the frontier of `function`, empty if it has none. With that of the
  /// last function beside it, writes those of all of them, or emits an error if
  /// that cannot be done. A function that failed never comes, so that a run
  /// that fails writes nothing. Safe to call from several threads.
  LogicalResult add(func::FuncOp function, Frontier frontier);

private:
  LogicalResult write(Location loc, ArrayRef<Frontier> frontiers) const;

  std::string path;
  std::mutex mutex;
  /// By what holds the functions, and by function: what has come so far.
  DenseMap<Operation *, DenseMap<Operation *, Frontier>> waiting;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_SCHEDULE_FRONTIER_H
