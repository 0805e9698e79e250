//===- BlockScheduler.h - Scheduling of a block within a limit --*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a block into a scheduling problem, finds its schedule for any limit of
// live bytes, buckets included, and applies one of them. A schedule is decided
// completely before the IR changes: that of a merged program is found on the
// problem that the merge will make, and applied as it is.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_SCHEDULE_BLOCKSCHEDULER_H
#define COMMSCHED_LIB_TRANSFORMS_SCHEDULE_BLOCKSCHEDULER_H

#include "../Bucketing/BucketChoice.h"
#include "../MemoryBudget.h"
#include "../Split/SplitChoice.h"
#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/Costs/GroupContention.h"
#include "CommSched/Schedule/Allocator/CachingAllocator.h"
#include "CommSched/Schedule/Exposure/ExposureReasons.h"
#include "CommSched/Transforms/Passes.h"
#include "SplitProgram.h"

#include <map>

namespace mlir::commsched {

/// The options of a pass that schedules blocks, checked.
struct SchedulingOptions {
  MemoryBudget budget;
  /// The allocator whose reserved memory a budget in bytes limits; none if it
  /// limits live bytes.
  std::optional<schedule::SegmentKind> budgetAllocator;
  ScheduleBuckets buckets = ScheduleBuckets::Auto;
  MergingOptions merging;
  SplittingOptions splitting;
  /// None: as the costs say.
  std::optional<int32_t> slackPercent = 0;
  ContentionOptions contention;
  /// Whether a time or a size that is not known is an error.
  bool refusesAssumptions = false;
};

/// A way to merge collectives that was not taken, and the step that it makes.
struct RejectedBuckets {
  const BucketChoice *buckets;
  int64_t stepNs;
  int64_t peakBytes;
};

class BlockScheduler;

/// The block with split regions, and what schedules it.
struct SplitBlock {
  SplitProgram program;
  /// Of the split block.
  std::unique_ptr<BlockScheduler> scheduler;
};

/// A way to split collectives that was not taken, and the step that it makes.
struct RejectedSplit {
  std::string rule;
  int64_t stepNs;
  int64_t peakBytes;
};

/// What the allocator reserves for a schedule.
struct ReservedBudget {
  int64_t bytes;
  int64_t limitBytes;
};

/// A schedule of a block for a limit of live bytes.
struct BlockSchedule {
  /// Its order is one of the merged program, if there are buckets.
  schedule::StepSchedule step;
  /// Of live bytes.
  int64_t limitBytes = 0;
  /// If the budget limits reserved memory.
  std::optional<ReservedBudget> reserved;
  /// The merged buckets, or null.
  const BucketChoice *buckets = nullptr;
  /// The order of the block directly before the members of buckets, which then
  /// are neighbors, are merged; `step.order` if there are none.
  schedule::Order blockOrder;
  /// If nothing is merged: the best way to merge that was tried, if any was.
  std::optional<RejectedBuckets> rejected;
  /// The split block that all of this is about, or null: the block as it was
  /// read.
  SplitBlock *split = nullptr;
  /// The best way to split that was tried and not taken, if any was; of a split
  /// schedule, one that splits more.
  std::optional<RejectedSplit> rejectedSplit;
  /// The step without the time of computation.
  int64_t exposedNs = 0;
  int64_t numCollectives = 0;

  bool fits() const {
    return reserved ? reserved->bytes <= reserved->limitBytes
                    : step.fits(limitBytes);
  }
  /// What schedules are compared by, with the bytes that the budget limits.
  schedule::Rank rank() const {
    return reserved ? schedule::Rank(step.stepNs, reserved->bytes,
                                     reserved->limitBytes)
                    : step.rank(limitBytes);
  }
  /// What the budget allows, of what it limits.
  int64_t getBudgetBytes() const {
    return reserved ? reserved->limitBytes : limitBytes;
  }
};

class BlockScheduler {
public:
  /// scheduleStep(), or one like it.
  using StepSolver = function_ref<Result<schedule::StepSchedule>(
      const schedule::Problem &, const schedule::StepSchedulerOptions &)>;

  /// Reads `block`. None if a collective is in flight across its boundary,
  /// after a call of `decline` with the reason. Emits a remark on each group of
  /// which it is not known what it contends for, and an error if there is no
  /// problem to be made of the block, or if the options refuse what it takes as
  /// known. `pricing` has costs. `options` outlives the result.
  static FailureOr<std::optional<BlockScheduler>>
  create(func::FuncOp function, Block &block, const SchedulingOptions &options,
         std::shared_ptr<CostAnalysis> pricing,
         function_ref<void(Location, StringRef)> decline);

  BlockScheduler(BlockScheduler &&) = default;
  BlockScheduler &operator=(BlockScheduler &&) = default;
  ~BlockScheduler();

  Block &getBlock() const { return *block; }
  const BlockProblem &getProblem() const { return *problem; }
  /// The program as it stands.
  const BlockSchedule &getProgram() const { return program; }

  /// Emits a remark on each time and size that the block takes as known, if
  /// remarks are enabled.
  void remarkAssumptions();

  /// The mergeable collectives; empty unless a schedule with buckets was
  /// requested.
  const MergeableSet &getMergeable() const { return mergeable; }

  /// The live bytes that `budget` allows.
  int64_t getLimitBytes(const MemoryBudget &budget) const;

  /// The options of the step scheduler for `limitBytes`.
  schedule::StepSchedulerOptions makeStepOptions(int64_t limitBytes) const;

  /// The limits of live bytes, in ascending order, whose schedules every larger
  /// limit considers: fixed percentages over the baseline.
  SmallVector<int64_t> listBudgetSteps() const;

  /// The best schedule within `limitBytes`, or the one that needs least memory.
  /// In a block of up to 65,536 operations, no limit gives a longer step than a
  /// budget step below it, nor an equal step that takes more memory.
  FailureOr<BlockSchedule> schedule(int64_t limitBytes);

  /// The same within the budget of the options, which may limit what the
  /// allocator reserves: the limit of live bytes is then lowered by what the
  /// schedule reserves too much, a fixed number of times. If that does not
  /// suffice, the schedule that reserves least.
  FailureOr<BlockSchedule> scheduleWithinBudget();

  /// Returns a lower bound on the step time of all orders of the same
  /// collectives. Emits an error if there is no bound.
  FailureOr<int64_t> computeLowerBoundNs(const BlockSchedule &schedule) const;

  /// Whether the options allow splitting.
  bool mayBeSplit() const {
    return options->splitting.split != ScheduleSplit::Off;
  }

  /// Why splitting does not hide `start`, a collective of the block as it was
  /// read, if `schedule` is taken; for before it is applied.
  SplitObstacle explainNotSplit(Operation *start,
                                const BlockSchedule &schedule);

  /// What is known about the regions of the block; null if none was asked for.
  SplitChooser *getChooser() const { return chooser.get(); }

  /// Splits the regions, puts the block into that order and merges the buckets.
  /// Returns whether anything changed.
  bool apply(const BlockSchedule &schedule) const;

  /// Returns the reasons for which collectives are exposed in an order of the
  /// block as it was read. Emits an error if it is not legal.
  FailureOr<std::vector<schedule::ExposureReason>>
  explainExposure(const schedule::Order &order, int64_t limitBytes) const;

private:
  BlockScheduler(func::FuncOp function, Block &block, BlockProblem problem,
                 const SchedulingOptions &options,
                 std::shared_ptr<CostAnalysis> pricing)
      : function(function), block(&block),
        problem(std::make_unique<BlockProblem>(std::move(problem))),
        options(&options), pricing(std::move(pricing)) {}

  FailureOr<BlockSchedule> scheduleOnce(int64_t limitBytes);
  FailureOr<const BlockSchedule *> getOrSchedule(int64_t limitBytes);
  FailureOr<BlockSchedule> scheduleReserved(int64_t limitBytes);
  FailureOr<int64_t> computeReservedBytes(const BlockSchedule &schedule) const;
  /// The program with `buckets`, or as it stands.
  const schedule::Problem &getProblemOf(const BucketChoice *buckets) const;
  static FailureOr<std::optional<BlockScheduler>>
  read(func::FuncOp function, Block &block, const SchedulingOptions &options,
       std::shared_ptr<CostAnalysis> pricing,
       function_ref<void(Location, StringRef)> decline,
       const BlockScheduler *original);
  LogicalResult readContention();
  int64_t sumExposedInside() const;
  LogicalResult findChoices();
  std::optional<std::string> getSplitObstacle();
  bool mayGainBySplitting(const BlockSchedule &schedule);
  FailureOr<BlockSchedule> scheduleWhole(int64_t limitBytes,
                                         bool mayMerge = true);
  FailureOr<std::optional<BlockSchedule>>
  scheduleSplit(SplitChoice choice, int64_t limitBytes, bool mayMerge);
  FailureOr<std::optional<BlockSchedule>>
  scheduleBestSplit(const BlockSchedule &whole);
  SplitChooser &getOrMakeChooser();
  FailureOr<SplitBlock *> makeSplitBlock(SplitChoice choice);
  bool mayGainByMerging(const schedule::StepSchedule &schedule,
                        int64_t limitBytes) const;
  /// The schedule of that order, with what it costs. Emits an error if it is
  /// not legal.
  FailureOr<BlockSchedule> measure(schedule::StepSchedule step,
                                   const BucketChoice *buckets,
                                   int64_t limitBytes) const;
  FailureOr<SmallVector<schedule::StepSchedule>>
  scheduleAllMerged(ArrayRef<const BucketChoice *> tried, StepSolver solver,
                    const schedule::StepSchedulerOptions &stepOptions);
  FailureOr<SmallVector<const BucketChoice *>>
  findPromising(const schedule::StepSchedulerOptions &stepOptions,
                size_t count);

  func::FuncOp function;
  Block *block;
  /// At an address that stays, for merged programs.
  std::unique_ptr<BlockProblem> problem;
  const SchedulingOptions *options;
  std::shared_ptr<CostAnalysis> pricing;
  /// Once they were needed.
  MergeableSet mergeable;
  std::optional<std::vector<BucketChoice>> choices;
  schedule::Contention contention;
  /// Whether this is the split block of another one.
  bool isSplit = false;
  BlockSchedule program;
  int64_t exposedInsideNs = 0;
  /// Once it was needed; empty if there is none.
  std::optional<std::string> splitObstacle;
  /// Once it was needed.
  std::unique_ptr<SplitChooser> chooser;
  /// For every choice that was tried.
  std::vector<std::unique_ptr<SplitBlock>> splits;
  /// By limit: what scheduleOnce() gave.
  std::map<int64_t, BlockSchedule> schedules;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_SCHEDULE_BLOCKSCHEDULER_H
