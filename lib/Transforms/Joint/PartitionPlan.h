//===- PartitionPlan.h - Choice of a partition ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decides on the partition of a joint function by the options of
// commsched-partition-joint. Rewrites nothing.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_JOINT_PARTITIONPLAN_H
#define COMMSCHED_LIB_TRANSFORMS_JOINT_PARTITIONPLAN_H

#include "CommSched/Analysis/Joint/JointFunction.h"
#include "CommSched/Partition/Classification.h"
#include "CommSched/Partition/SavedValues.h"
#include "CommSched/Transforms/Passes.h"

namespace mlir::commsched {

/// Parses a budget for the peak of the step, in bytes. Returns a problem as the
/// predicate of an error message.
std::optional<std::string> parsePeakBudget(StringRef text, int64_t &bytes);

struct PartitionPlanOptions {
  PartitionStrategy strategy = PartitionStrategy::MinCut;
  /// The part of the activation bytes of the minimum cut that may be saved.
  double fraction = 1;
  partition::CollectivePolicy collectives = partition::CollectivePolicy::Save;
  partition::SavedValuesOptions savedValues;
};

/// The decision of planPartition().
struct PartitionPlan {
  partition::Split split;
  /// The bytes that the budget limits: of the saved values. 0 without a budget.
  int64_t bytes = 0;
  int64_t allowedBytes = 0;
  /// Whether no choice was found within the budget: then this is the smallest,
  /// or what the function names.
  bool isOverBudget = false;
  /// With the strategy `default`: what is marked for recomputation, so that the
  /// partition is a minimum cut; noNode: nothing is.
  partition::NodeId markedNode = partition::noNode;
};

/// Decides how to partition `joint`, whose costs are in the unit that counts,
/// unless it names what is saved: then that is taken, over the budget or not.
/// Emits an error, at the operations at odds, if there is no such partition.
FailureOr<PartitionPlan> planPartition(const JointFunction &joint,
                                       const PartitionPlanOptions &options);

/// The partition that saves what `commsched.saved_values` names; an error as
/// above, or that of readSavedValues().
FailureOr<partition::Split> splitAtSavedValues(const JointFunction &joint);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_JOINT_PARTITIONPLAN_H
