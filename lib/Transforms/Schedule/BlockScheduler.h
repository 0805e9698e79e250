//===- BlockScheduler.h - Scheduling of a block within a memory limit -*- C++
//-*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a block into a scheduling problem, finds its schedule for any limit of
// live bytes, buckets included, and applies one of them to the block.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_SCHEDULE_BLOCKSCHEDULER_H
#define COMMSCHED_LIB_TRANSFORMS_SCHEDULE_BLOCKSCHEDULER_H

#include "../Bucketing/BucketChoice.h"
#include "../MemoryBudget.h"
#include "CommSched/Analysis/Costs/CostAnalysis.h"
#include "CommSched/Analysis/Costs/GroupContention.h"
#include "CommSched/Schedule/Exposure/ExposureReasons.h"
#include "CommSched/Transforms/Passes.h"

namespace mlir::commsched {

/// What the options of the pass come to.
struct StepScheduling {
  MemoryBudget budget;
  bool isStrict = false;
  ScheduleBuckets buckets = ScheduleBuckets::Auto;
  /// Whether reductions keep every element at its place of a message.
  bool isBitwise = false;
  int32_t slackPercent = 0;
  ContentionOptions contention;
  /// Measured collectives, or null.
  std::shared_ptr<const cost::MeasuredTable> profile;
};

/// A way to merge collectives that was not taken, and what it makes of the
/// step.
struct RejectedBuckets {
  const BucketAlternative *buckets;
  int64_t stepNs;
  int64_t peakBytes;
};

/// A schedule of a block, and what there is to say about it.
struct BlockSchedule {
  /// Its order is one of the merged program, if there are buckets.
  schedule::StepSchedule step;
  /// What is merged, or null.
  const BucketAlternative *buckets = nullptr;
  /// If nothing is merged: the best way to merge that was tried, if any was.
  std::optional<RejectedBuckets> rejected;
  /// The step without the time of computation.
  int64_t exposedNs = 0;
  int64_t numCollectives = 0;
};

class BlockScheduler {
public:
  /// Reads `block`. None if its sizes are not all known, which a remark says;
  /// so does one of each group of which it is not known what it contends for.
  /// Emits an error if a time is not known, or if there is no problem to be
  /// made of the block. `scheduling` outlives the result.
  static FailureOr<std::optional<BlockScheduler>>
  create(func::FuncOp function, Block &block, const StepScheduling &scheduling,
         ScheduleBuckets buckets, std::shared_ptr<CostAnalysis> pricing);

  Block &getBlock() const { return *block; }
  const BlockProblem &getProblem() const { return *problem; }
  /// The program as it stands.
  const BlockSchedule &getProgram() const { return program; }

  /// What may be merged; nothing unless a schedule has looked at that.
  const MergeableSet &getMergeable() const { return mergeable; }

  /// The live bytes that `budget` allows.
  int64_t getLimitBytes(const MemoryBudget &budget) const;

  /// The best schedule within `limitBytes`, or the one that needs least.
  FailureOr<BlockSchedule> schedule(int64_t limitBytes);

  /// What no order of the same collectives can beat. Emits an error if there is
  /// no bound.
  FailureOr<int64_t> computeLowerBoundNs(const BlockSchedule &schedule) const;

  /// Merges the buckets and puts the block into that order. Returns whether
  /// anything changed. Emits an error if the order is not legal.
  FailureOr<bool> apply(const BlockSchedule &schedule) const;

  /// Why collectives are exposed in an order of the block as it was read.
  /// Emits an error if it is not legal.
  FailureOr<std::vector<schedule::ExposureReason>>
  explainExposure(const schedule::Order &order, int64_t limitBytes) const;

private:
  BlockScheduler(func::FuncOp function, Block &block, BlockProblem problem,
                 const StepScheduling &scheduling, ScheduleBuckets buckets,
                 std::shared_ptr<CostAnalysis> pricing)
      : function(function), block(&block),
        problem(std::make_unique<BlockProblem>(std::move(problem))),
        scheduling(&scheduling), buckets(buckets), pricing(std::move(pricing)) {
  }

  /// The program with `buckets`, or as it stands.
  const schedule::Problem &getProblemOf(const BucketAlternative *buckets) const;
  LogicalResult readContention();
  LogicalResult findAlternatives();
  bool mayGainByMerging(const schedule::StepSchedule &schedule,
                        int64_t limitBytes) const;
  /// What there is to say about an order of the block, or of the program with
  /// `buckets`. Emits an error if it cannot be simulated.
  FailureOr<BlockSchedule> measure(schedule::StepSchedule step,
                                   const BucketAlternative *buckets) const;
  FailureOr<SmallVector<const BucketAlternative *>>
  findPromising(const schedule::StepSchedulerOptions &options, size_t count);
  LogicalResult merge(const BlockSchedule &schedule) const;

  func::FuncOp function;
  Block *block;
  /// At an address that stays, for merged programs.
  std::unique_ptr<BlockProblem> problem;
  const StepScheduling *scheduling;
  ScheduleBuckets buckets;
  std::shared_ptr<CostAnalysis> pricing;
  /// Once they were needed.
  MergeableSet mergeable;
  std::optional<std::vector<BucketAlternative>> alternatives;
  schedule::Contention contention;
  BlockSchedule program;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_SCHEDULE_BLOCKSCHEDULER_H
