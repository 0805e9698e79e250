//===- MergingSearch.h - Search for ways to merge collectives ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How large buckets should be depends on the memory that is left, on what has
// to hide them, and on where in the step they are. The search begins with
// buckets of one size for all collectives, up to all of the memory that is left
// where they are used, and with those of one module. It continues with the best
// of these by coordinate descent: the buckets of one kind of collective become
// larger or smaller, do without copies or get another part of the memory, and
// then those of a half, a quarter and an eighth of a kind, while that makes the
// step shorter.
//
// Each way is judged by a sketch of the schedule of the merged program within
// the limit. Sketches are kept: one that takes less than another limit is a
// candidate there too, and what takes longer than the best one even if more
// memory is allowed is not tried again.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_SCHEDULE_MERGINGSEARCH_H
#define COMMSCHED_LIB_TRANSFORMS_SCHEDULE_MERGINGSEARCH_H

#include "../Bucketing/BucketChoice.h"

#include <list>
#include <map>

namespace mlir::commsched {

/// scheduleStep(), or one like it.
using StepSolver = function_ref<Result<schedule::StepSchedule>(
    const schedule::Problem &, const schedule::StepSchedulerOptions &)>;

/// A schedule of the merged program of `choice` that begins with the order
/// `start`. Verified and simulated. Error: that of `solver`.
Result<schedule::StepSchedule>
scheduleMerged(const BucketChoice &choice, const schedule::Order &start,
               StepSolver solver,
               const schedule::StepSchedulerOptions &stepOptions);

/// The ways to merge the collectives of one block. What was made for one limit
/// is kept for the others.
class MergingSearch {
public:
  /// All of them have to live on. Linear in the operations.
  MergingSearch(func::FuncOp function, Block &block,
                const BlockProblem &problem, const MergingOptions &options,
                OperationCosts &costs);

  const MergeableSet &getMergeable() const { return mergeable; }

  /// A way, with a schedule of its merged program.
  struct Candidate {
    const BucketChoice *choice;
    schedule::StepSchedule step;
    /// Whether refine() has made it.
    bool isRefined = false;
  };

  /// The ways with the best sketches within the limit of the options, the best
  /// one first, at most `count`, and then other local optima of the search;
  /// none if the block has buckets already. `unmerged` is a schedule for that
  /// limit, whose order of computation the merged programs get. Sketches that
  /// are hardly above `boundNs` are not changed further. Emits an error if
  /// there is no program to a way.
  FailureOr<SmallVector<Candidate>>
  findPromising(const schedule::Order &unmerged,
                const schedule::StepSchedulerOptions &stepOptions,
                int64_t boundNs, size_t count);

  /// A schedule of the program without buckets, from which refine() may begin;
  /// none if the block has buckets already.
  std::optional<Candidate> startUnmerged(const schedule::StepSchedule &step);

  /// Changes the buckets of a schedule for the limit of the options while that
  /// makes it better: joins two that follow each other in order of use, or
  /// around a third, or the first and the last; divides one; moves a member
  /// from one to the next; lets members travel with or without copies. Each
  /// change is judged by a sketch. The number of sketches falls with that of
  /// operations; if it is less than an eighth of the changes, nothing is
  /// changed. Emits an error if a program cannot be scheduled.
  FailureOr<Candidate>
  refine(Candidate start, const schedule::StepSchedulerOptions &stepOptions);

private:
  /// One rule for each kind of collective.
  using Rules = std::vector<PlanRule>;

  /// The sketch of a way for one limit.
  struct Sketch {
    Rules rules;
    Candidate candidate;
    int64_t limitBytes;
  };
  class Descent;
  class Refinement;

  LogicalResult sortByUse(const schedule::Order &unmerged, int64_t limitBytes);
  FailureOr<SmallVector<BucketChoice *>>
  getOrFormChoices(ArrayRef<Rules> rules);
  BucketChoice *getOrAdd(BucketChoice formed);

  func::FuncOp function;
  const BlockProblem &problem;
  MergeableSet mergeable;
  BucketChooser chooser;
  /// Those that differ in their buckets, with addresses that stay.
  std::list<BucketChoice> choices;
  /// What rules make of the collectives as they are sorted now.
  std::vector<std::pair<Rules, BucketChoice *>> formed;
  std::vector<Sketch> sketches;
  /// Changes that are not better, by what identifies them, and whether they
  /// take more than the limit.
  using WorseChanges = std::map<std::vector<int32_t>, bool>;
  /// By the choice that a refinement has ended with.
  DenseMap<const BucketChoice *, WorseChanges> worseChanges;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_SCHEDULE_MERGINGSEARCH_H
