//===- SavedStorages.h - Saving storages and sizes --------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Once it is decided what is saved, what has to be kept in memory for it: of a
// view the storage that it shows, once for all of its views, and of a tensor
// that the backward only measures nothing but the sizes. Both make a set of
// saved values that takes no more memory, and gives the same backward but for
// views that are taken again.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_PARTITION_SAVEDSTORAGES_H
#define COMMSCHED_PARTITION_SAVEDSTORAGES_H

#include "CommSched/Partition/Split.h"

namespace mlir::commsched::partition {

/// What to save in place of `split.saved`, ascending. Another `split()` tells
/// what the halves compute then.
///
/// A view is replaced by the value that it and the views below it show, if that
/// is an argument or computed by the forward, and not by the backward as well:
/// there the views are at hand without being saved. A view that cannot be
/// repeated, since it is pinned, kept in the forward, to be saved itself, or
/// depends on more than the backward has, is what is saved. O(nodes +
/// operands).
std::vector<NodeId> getSavedStorages(const JointGraph &graph,
                                     const Split &split);

/// What to save in place of `split.saved`, ascending. A value of which the
/// backward reads only dimensions is replaced by what reads these, if the
/// forward can compute it. O(nodes + users).
std::vector<NodeId> getSavedDimensions(const JointGraph &graph,
                                       const Split &split);

/// The partition that saves the storages and the dimensions that `halves` saves
/// values for; `halves` itself if it does so already. Linear.
PartitionResult<Split> saveStorages(const JointGraph &graph, Split halves,
                                    bool allowCollectives);

/// The partition that saves the storages and the dimensions of `saved`: split()
/// and then saveStorages().
PartitionResult<Split> splitAtStorages(const JointGraph &graph,
                                       const std::vector<NodeId> &saved,
                                       bool allowCollectives);

} // namespace mlir::commsched::partition

#endif // COMMSCHED_PARTITION_SAVEDSTORAGES_H
