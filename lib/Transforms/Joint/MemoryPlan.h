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

/// What becomes of saved values, or what may become of them.
struct Treatment {
  /// Whether they go to the host where computation hides that.
  bool offloads = false;
  /// Whether they are kept in 8 bits where that takes less memory.
  bool quantizes = false;
  /// How much of what could be in 8 bits is then, by its bytes.
  int32_t quantizedEighths = 8;
};

/// Measures a partition with a treatment of its saved values, of which it may
/// change the number; fails after an error.
using MeasureTrial =
    function_ref<FailureOr<TrialCosts>(const partition::Split &, Treatment &)>;

/// A partition that was measured.
struct PartitionTrial {
  /// Where it comes from, such as "memory at 64 ns/MiB".
  std::string origin;
  partition::Split split;
  Treatment treatment;
  TrialCosts costs;
};

/// The list: the partitions that the minimum cut by price makes at rising
/// prices of memory, from nothing on, and rungs of PyTorch's ladder. A higher
/// price saves less.
class PartitionTrials {
public:
  /// `joint`, whose costs are nanoseconds, must outlive the result. Each
  /// partition is on the list with and without each of what is `allowed`. Emits
  /// an error, at the operations at odds, if there is no partition.
  static FailureOr<PartitionTrials>
  create(const JointFunction &joint, partition::CollectivePolicy collectives,
         Treatment allowed);

  /// The list with that partition alone.
  static PartitionTrials createFixed(const JointFunction &joint,
                                     partition::Split split, Treatment allowed);

  /// Whether a graph is so small that visiting the whole list takes no time.
  static bool isSmall(const partition::JointGraph &graph) {
    constexpr int32_t mostNodes = 256;
    return graph.size() <= mostNodes;
  }

  /// Visits the whole list.
  LogicalResult visitAll(MeasureTrial measure);

  /// Visits every fourth price, all those before the first of them that takes
  /// at most `bytes`, and of the ladder, by bisection, what is around such a
  /// rung.
  LogicalResult visitAround(int64_t bytes, MeasureTrial measure);

  /// What was visited, without repetitions: the shortest bound first, of equal
  /// ones that which does nothing to its saved values, then the lower peak.
  std::vector<const PartitionTrial *> getVisited() const;

private:
  PartitionTrials(const JointFunction &joint, Treatment allowed)
      : joint(&joint), allowed(allowed) {}

  using Solution = FailureOr<partition::Split>;
  Solution solvePrice(int32_t index) const;
  Solution solveRung(int32_t index) const;
  /// The lowest peak of an entry of one of the two lists, measured if it is not
  /// known.
  FailureOr<int64_t> visitPrice(int32_t index, MeasureTrial measure);
  FailureOr<int64_t> visitRung(int32_t index, MeasureTrial measure);
  FailureOr<int64_t> measureOnce(const std::string &origin,
                                 const partition::Split &split,
                                 MeasureTrial measure);

  const JointFunction *joint;
  Treatment allowed;
  /// The only partition, if there is one; all that follows is empty then.
  std::optional<partition::Split> fixed;
  /// Gathers at the price of doing them again; policies settled. At addresses
  /// that stay, for the ladder.
  std::unique_ptr<partition::JointGraph> graph;
  std::unique_ptr<partition::Classification> classes;
  std::optional<partition::SavedValuesLadder> ladder;
  bool keepsCollectives = false;
  /// By index of each list: the lowest peaks, in bytes.
  std::map<int32_t, int64_t> prices;
  std::map<int32_t, int64_t> rungs;
  /// By what is saved: the one that keeps saved values as they are is first.
  std::map<std::vector<partition::NodeId>, std::vector<PartitionTrial>> trials;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_JOINT_MEMORYPLAN_H
