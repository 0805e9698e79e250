//===- CutNetwork.h - Networks of saved and repeated values -----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The network whose cuts are the choices of values to save: every value of the
// forward that the backward needs is saved, or computed again from others that
// it has. The minimum cuts by size and by time differ in the weights alone.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_PARTITION_CUTNETWORK_H
#define COMMSCHED_LIB_PARTITION_CUTNETWORK_H

#include "CommSched/Partition/MinCut.h"
#include "FlowNetwork.h"

namespace mlir::commsched::partition {

/// By node, what a choice weighs: not negative, or `FlowNetwork::unbounded` for
/// what cannot be chosen.
struct CutWeights {
  /// Saving the value.
  std::vector<int64_t> save;
  /// Computing it again: the whole operation for one that has several results,
  /// which weigh 0.
  std::vector<int64_t> repeat;
};

/// Whether computing the node again takes nothing: views, constants.
bool isFreeToRepeat(const JointNode &node);

/// The values to save, ascending, such that these and what is computed again
/// weigh least; of several choices the one that computes least again. `bans`:
/// why what may not be computed again may not be. What the user wants to be
/// computed again is. Conflict: something can neither be saved nor computed
/// again.
PartitionResult<std::vector<NodeId>>
solveCut(const JointGraph &graph, const Classification &classes,
         const std::vector<BanReason> &bans, const CutWeights &weights);

} // namespace mlir::commsched::partition

#endif // COMMSCHED_LIB_PARTITION_CUTNETWORK_H
