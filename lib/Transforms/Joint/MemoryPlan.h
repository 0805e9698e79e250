//===- MemoryPlan.h - Partitions by the price of memory ---------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The partitions of a joint function that test-commsched-fit-memory chooses
// from: a fixed list, whatever the memory is, with estimates of what their
// steps take. Rewrites nothing.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_JOINT_MEMORYPLAN_H
#define COMMSCHED_LIB_TRANSFORMS_JOINT_MEMORYPLAN_H

#include "CommSched/Analysis/Joint/JointFunction.h"
#include "CommSched/Partition/PricedCut.h"
#include "CommSched/Partition/RecomputePolicies.h"
#include "CommSched/Partition/StepEstimate.h"

#include <map>

namespace mlir::commsched {

/// A partition of the list.
struct ListedPartition {
  /// Where it comes from, such as "memory at 64 ns/MiB".
  std::string origin;
  /// What becomes of gathered parameters.
  partition::CollectivePolicy gathers = partition::CollectivePolicy::Cost;
  partition::Split split;
  partition::StepEstimate estimate;
};

/// The list: minimum cuts by price. There is a family for each way to treat
/// gathered parameters (kept, gathered again where that is cheaper, always
/// gathered again) and each division of the forward into segments, whose inputs
/// have to be saved if the backward needs them; in a family the price of memory
/// rises, for the early values of the forward first, which are saved longest.
class PartitionList {
public:
  /// `joint`, whose costs are nanoseconds, must outlive the result. Emits an
  /// error, at the operations at odds, if there is no partition.
  static FailureOr<PartitionList>
  create(const JointFunction &joint, partition::CollectivePolicy collectives);

  /// The list with that partition alone.
  static PartitionList createFixed(const JointFunction &joint,
                                   partition::Split split);

  /// Whether the graph is so small that looking at the whole list takes no
  /// time.
  bool isSmall() const;
  /// Whether it is so small that there is time for changes of single values,
  /// and for scheduling what others seem to beat.
  bool isTiny() const;

  /// All of the list, without repetitions, and rungs of the ladder of
  /// commsched-partition-joint: for small graphs. Of tiny ones also changes of
  /// single values that improve the estimate.
  FailureOr<std::vector<const ListedPartition *>> getAll();

  /// Those with the shortest estimates within `bytes`: of a few families the
  /// first that is within; the shortest first. If no family is known to have
  /// one, the one with the least.
  FailureOr<std::vector<const ListedPartition *>> getAround(int64_t bytes);

private:
  /// A way to treat gathered parameters.
  struct Gathers {
    partition::CollectivePolicy policy;
    /// With the costs and policies of it.
    std::unique_ptr<partition::JointGraph> graph;
  };
  /// Partitions by the level of the price.
  struct Family {
    const Gathers *gathers;
    std::string name;
    /// By node: whether it is an input of a segment; none if there is one.
    std::vector<char> isInput;
    std::map<int32_t, const ListedPartition *> byLevel;
  };

  explicit PartitionList(const JointFunction &joint) : joint(&joint) {}

  void addFamilies(partition::CollectivePolicy policy);
  LogicalResult addLadder(const Gathers &gathers);
  /// The partitions whose estimates no other one beats in time and memory, the
  /// shortest first.
  std::vector<const ListedPartition *> findBestEstimates() const;
  void addNeighbor(const ListedPartition &listed, partition::NodeId node,
                   ArrayRef<const ListedPartition *> best);
  void addNeighbors();
  int32_t getNumPrices() const;
  LogicalResult findPrice(Family &family, int64_t bytes, int32_t &index);
  FailureOr<const ListedPartition *> findShare(Family &family, int32_t index,
                                               int64_t bytes);
  partition::TreatmentPrices getPrices(const Family &family,
                                       int32_t level) const;
  FailureOr<const ListedPartition *> get(Family &family, int32_t level);
  const ListedPartition *add(std::string origin,
                             partition::CollectivePolicy gathers,
                             partition::Split split);

  const JointFunction *joint;
  /// The only partition, if there is one; there are no families then.
  const ListedPartition *fixed = nullptr;
  std::unique_ptr<partition::Classification> classes;
  std::unique_ptr<partition::StepEstimator> estimator;
  std::vector<std::unique_ptr<Gathers>> treatments;
  std::vector<Family> families;
  /// By node, from 0: the share of the forward that it belongs to.
  std::vector<int32_t> shares;
  /// By what is saved.
  std::map<std::vector<partition::NodeId>, ListedPartition> partitions;
};

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_JOINT_MEMORYPLAN_H
