//===- OffloadActivations.h - Saved values on the host ----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sends values that a forward saves to the memory of the host, and fetches them
// back in the backward.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_JOINT_OFFLOADACTIVATIONS_H
#define COMMSCHED_LIB_TRANSFORMS_JOINT_OFFLOADACTIVATIONS_H

#include "CommSched/Analysis/Costs/OperationCosts.h"
#include "SplitFunction.h"

namespace mlir::commsched {

/// Rewrites both halves, which have one block each, such that saved values
/// whose transfers computation hides (schedule::chooseHiddenTransfers(), with
/// the times of operations by `costs`) are saved on the host, within
/// `hostBytes`. Returns how many there are.
///
/// The forward offloads a value right behind its last use, waits where the
/// transfer is done, and returns a host tensor; the backward starts to reload
/// it as late as it can, and waits at its first use. Only tensors of static
/// size are sent that the forward computes and nothing else that it returns
/// shares memory with, and none of less than a 64th of the largest. Linear but
/// for sorting.
int64_t offloadSavedValues(PartitionHalves halves, OperationCosts &costs,
                           int64_t hostBytes);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_JOINT_OFFLOADACTIVATIONS_H
