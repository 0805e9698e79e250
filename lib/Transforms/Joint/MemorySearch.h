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
FailureOr<PartitionHalves> createHalves(const JointFunction &working,
                                        const partition::Split &split,
                                        OperationCosts &costs,
                                        const HalvesOptions &options);

/// The costs of the halves. Emits an error if they are not known.
FailureOr<PairCosts> getPairCosts(PartitionHalves halves,
                                  OperationCosts &costs);

/// A partition that was scheduled.
struct FittedTrial {
  const PartitionTrial *trial = nullptr;
  PairSchedule schedule;
};

class MemorySearch {
public:
  /// All of these must outlive the object.
  MemorySearch(const JointFunction &working,
               const SchedulingOptions &scheduling, OperationCosts &costs,
               int64_t hostBytes)
      : working(working), scheduling(scheduling), costs(costs),
        hostBytes(hostBytes) {}

  /// Measures a partition as it is before it is scheduled.
  FailureOr<TrialCosts> measure(const partition::Split &split,
                                Treatment treatment);

  /// The same with as little in 8 bits as fits `limitBytes`, if that is less
  /// than all: changes `treatment` such.
  FailureOr<TrialCosts> measureWithin(const partition::Split &split,
                                      Treatment &treatment, int64_t limitBytes);

  /// Returns the shortest step within `limitBytes` of all that are found, or
  /// the one that needs least. `trials`, which must live on, are those to
  /// choose from, the one with the shortest bound first. `isSmall`: schedules
  /// as many as it takes for a choice among points that are the same for all
  /// limits, so that more memory never makes a step longer. `wantsFrontier`:
  /// also schedules for limits all over what the trials take.
  FailureOr<FittedTrial> choose(ArrayRef<const PartitionTrial *> trials,
                                int64_t limitBytes, bool isSmall,
                                bool wantsFrontier);

  /// The points between which there is a choice, of all that were scheduled.
  FunctionFrontier makeFrontier(StringRef function) const;

private:
  LogicalResult withHalves(const partition::Split &split, Treatment treatment,
                           function_ref<LogicalResult(PartitionHalves)> use);
  LogicalResult scheduleTrial(
      const PartitionTrial &trial,
      function_ref<std::optional<int64_t>(const PairSchedule *)> getNextLimit);
  LogicalResult schedulePromising(ArrayRef<const PartitionTrial *> trials,
                                  int64_t bytes, int32_t count);
  LogicalResult scheduleCompletely(ArrayRef<const PartitionTrial *> trials,
                                   int64_t bytes);
  LogicalResult scheduleLeast(ArrayRef<const PartitionTrial *> trials);
  const FittedTrial *findBest(int64_t bytes) const;

  const JointFunction &working;
  const SchedulingOptions &scheduling;
  OperationCosts &costs;
  int64_t hostBytes;
  /// All that was scheduled.
  std::vector<FittedTrial> points;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_JOINT_MEMORYSEARCH_H
