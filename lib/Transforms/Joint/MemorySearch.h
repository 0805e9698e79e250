//===- MemorySearch.h - Search of a step that fits --------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds the halves of partitions, measures and schedules them, and finds the
// shortest step within a number of bytes. The joint function stays as it is.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_JOINT_MEMORYSEARCH_H
#define COMMSCHED_LIB_TRANSFORMS_JOINT_MEMORYSEARCH_H

#include "../Schedule/FrontierFile.h"
#include "MemoryPlan.h"
#include "ScheduledPair.h"

namespace mlir::commsched {

/// What becomes of saved values.
struct Treatment {
  /// Whether they go to the host where computation hides that.
  bool offloads = false;
  /// How much of what can be in 8 bits is, by its bytes.
  int32_t quantizedEighths = 0;

  bool operator<(Treatment other) const {
    return std::tie(offloads, quantizedEighths) <
           std::tie(other.offloads, other.quantizedEighths);
  }
};

/// How halves are made of a partition.
struct HalvesOptions {
  PartitionNames names;
  /// Whether they are only measured: there are no remarks.
  bool isTrial = true;
  Treatment treatment;
  /// What the host takes at most of saved values.
  int64_t hostBytes = 0;
};

/// Creates the halves of `split` with recomputation in the order of autograd.
/// What is saved in 8 bits may go to the host as well.
FailureOr<OwnedHalves> createHalves(const JointFunction &working,
                                    const partition::Split &split,
                                    OperationCosts &costs,
                                    const HalvesOptions &options);

/// The costs of the halves. Emits an error if they are not known.
FailureOr<PairCosts> getPairCosts(PartitionHalves halves,
                                  OperationCosts &costs);

/// What both halves of a partition take before they are scheduled.
struct TrialCosts {
  /// The live bytes at the peak of the step, in the order of the halves.
  int64_t peakBytes = 0;
  /// No schedule of the halves takes less, in nanoseconds.
  int64_t boundNs = 0;
  /// As in PairCosts.
  int64_t besideBackwardBytes = 0;
};

/// A partition that was measured.
struct PartitionTrial {
  const ListedPartition *partition = nullptr;
  Treatment treatment;
  TrialCosts costs;

  std::string getOrigin() const;
};

/// A partition that was scheduled.
struct FittedTrial {
  const PartitionTrial *trial = nullptr;
  PairSchedule schedule;
};

/// The best of them, which can be applied.
struct FittedHalves {
  FittedTrial point;
  /// What has the halves.
  std::shared_ptr<PairScheduler> scheduler;
  PairDecision decision;
};

/// Brings halves into the form in which they are scheduled.
using PrepareHalves = function_ref<LogicalResult(PartitionHalves)>;

class MemorySearch {
public:
  struct Options {
    /// What the step may take.
    int64_t limitBytes = 0;
    /// Whether saved values may be in 8 bits.
    bool mayQuantize = false;
    /// What the host takes at most of saved values.
    int64_t hostBytes = 0;
  };

  /// All of the references must outlive the object.
  MemorySearch(const JointFunction &working, PartitionList &list,
               const SchedulingOptions &scheduling, OperationCosts &costs,
               PrepareHalves prepare, const Options &options)
      : working(working), list(list), scheduling(scheduling), costs(costs),
        prepare(prepare), options(options) {}

  /// Finds the shortest step within the limit of all that are known, or the one
  /// that needs least. Of a small function, the choice is among points that are
  /// the same for all limits, so that more memory never makes a step longer. If
  /// the budget limits what an allocator reserves, the limit of live bytes is
  /// lowered until that fits.
  LogicalResult run();

  /// Finds steps for limits all over what the partitions take.
  LogicalResult findFrontier();

  /// The best for the limit, of all that was found.
  const FittedHalves &getBest() const { return *best; }

  /// The points between which there is a choice, of all that were scheduled.
  FunctionFrontier makeFrontier(StringRef function) const;

  /// All that was measured, the shortest bound first, of equal ones that which
  /// does nothing to its saved values.
  std::vector<const PartitionTrial *> getMeasured() const;

private:
  FailureOr<OwnedHalves> makeHalves(const ListedPartition &partition,
                                    Treatment treatment);
  FailureOr<const PartitionTrial *> measure(const ListedPartition &partition,
                                            Treatment treatment);
  LogicalResult measureAround(int64_t bytes, Treatment treatment);
  LogicalResult measureAll(Treatment treatment);
  SmallVector<Treatment> listTreatments() const;
  /// A trial and a limit in bytes for its schedule.
  using LimitedTrial = std::pair<const PartitionTrial *, int64_t>;

  LogicalResult findWithinLimit();
  FailureOr<int64_t> computeReservedBytes();
  LogicalResult findReserved();
  LogicalResult measureFor(int64_t bytes);
  LogicalResult find(int64_t bytes);
  std::vector<int64_t> listLimits() const;
  LogicalResult scheduleFirst(ArrayRef<int64_t> limits);
  FailureOr<std::shared_ptr<PairScheduler>>
  makeScheduler(const PartitionTrial &trial);
  PairSchedule keep(const PartitionTrial &trial,
                    const std::shared_ptr<PairScheduler> &scheduler,
                    PairDecision decision);
  LogicalResult scheduleAtOnce(ArrayRef<LimitedTrial> wanted);
  LogicalResult scheduleTrial(
      const PartitionTrial &trial,
      function_ref<std::optional<int64_t>(const PairSchedule *)> getNextLimit);
  LogicalResult schedulePromising(int64_t bytes);
  LogicalResult scheduleCompletely(int64_t bytes);
  LogicalResult scheduleLeast();
  const FittedTrial *findBest(int64_t bytes) const;
  const FittedTrial *findPoint(const PartitionTrial &trial,
                               int64_t bytes) const;
  std::vector<const PartitionTrial *> getPromising(int64_t bytes) const;
  /// Whether `point` is better for the limit than what is known.
  bool isBetter(const FittedTrial &point) const;

  const JointFunction &working;
  PartitionList &list;
  const SchedulingOptions &scheduling;
  OperationCosts &costs;
  PrepareHalves prepare;
  Options options;
  /// By what is saved, and how.
  std::map<std::pair<std::vector<partition::NodeId>, Treatment>, PartitionTrial>
      trials;
  /// All that was scheduled.
  std::vector<FittedTrial> points;
  std::optional<FittedHalves> best;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_JOINT_MEMORYSEARCH_H
