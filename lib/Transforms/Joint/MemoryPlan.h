//===- MemoryPlan.h - Partitions by the price of memory ---------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The partitions of a joint function that commsched-fit-memory chooses from: a
// fixed list, whatever the memory is. Each is measured once it is visited.
// Rewrites nothing.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_JOINT_MEMORYPLAN_H
#define COMMSCHED_LIB_TRANSFORMS_JOINT_MEMORYPLAN_H

#include "CommSched/Analysis/Joint/JointFunction.h"
#include "CommSched/Partition/PricedCut.h"
#include "CommSched/Partition/RecomputePolicies.h"
#include "CommSched/Partition/SavedValues.h"

#include <map>

namespace mlir::commsched {

/// What both halves of a partition take before they are scheduled.
struct TrialCosts {
  /// The live bytes at the peak of the step, in the order of the halves.
  int64_t peakBytes = 0;
  /// No schedule of the halves takes less, in nanoseconds.
  int64_t boundNs = 0;
};

/// Measures a partition; fails after an error.
using MeasureTrial =
    function_ref<FailureOr<TrialCosts>(const partition::Split &)>;

/// A partition that was measured.
struct PartitionTrial {
  /// Where it comes from, such as "memory at 64 ns/MiB".
  std::string origin;
  partition::Split split;
  TrialCosts costs;
};

/// The list: the partitions that the minimum cut by price makes at rising
/// prices of memory, from nothing on, and rungs of PyTorch's ladder. A higher
/// price saves less.
class PartitionTrials {
public:
  /// `joint`, whose costs are nanoseconds, must outlive the result. Emits an
  /// error, at the operations at odds, if there is no partition.
  static FailureOr<PartitionTrials>
  create(const JointFunction &joint, partition::CollectivePolicy collectives);

  /// The list with that partition alone.
  static PartitionTrials createFixed(const JointFunction &joint,
                                     partition::Split split);

  /// Visits the whole list.
  LogicalResult visitAll(MeasureTrial measure);

  /// Visits by bisection, as if each entry of the list took less memory than
  /// the one before it, those around the first that takes at most `bytes`.
  LogicalResult visitAround(int64_t bytes, MeasureTrial measure);

  /// What was visited, without repetitions: the shortest bound first, of equal
  /// ones the lower peak.
  std::vector<const PartitionTrial *> getVisited() const;

private:
  PartitionTrials(const JointFunction &joint) : joint(&joint) {}

  using Solution = FailureOr<partition::Split>;
  Solution solvePrice(int32_t index) const;
  Solution solveRung(int32_t index) const;
  /// The costs of an entry of one of the two lists, measured if they are not
  /// known.
  FailureOr<TrialCosts> visitPrice(int32_t index, MeasureTrial measure);
  FailureOr<TrialCosts> visitRung(int32_t index, MeasureTrial measure);
  FailureOr<TrialCosts> measureOnce(std::string origin, partition::Split split,
                                    MeasureTrial measure);

  const JointFunction *joint;
  /// Gathers at the price of doing them again; policies settled. At addresses
  /// that stay, for the ladder.
  std::unique_ptr<partition::JointGraph> graph;
  std::unique_ptr<partition::Classification> classes;
  std::optional<partition::SavedValuesLadder> ladder;
  bool keepsCollectives = false;
  /// By index of each list: the costs.
  std::map<int32_t, TrialCosts> prices;
  std::map<int32_t, TrialCosts> rungs;
  /// By what is saved.
  std::map<std::vector<partition::NodeId>, PartitionTrial> trials;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_JOINT_MEMORYPLAN_H
