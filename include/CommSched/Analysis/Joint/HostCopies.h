//===- HostCopies.h - Checks of values saved on the host --------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks of the values that a block offloads, in joint functions and in
// forwards: the copy on the host takes the place of the value in the backward.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_JOINT_HOSTCOPIES_H
#define COMMSCHED_ANALYSIS_JOINT_HOSTCOPIES_H

#include "CommSched/Analysis/Problem/StorageAnalysis.h"

namespace mlir::commsched {

/// Emits an error for the first `commsched.offload` of `block` with an operand
/// whose storage a later operation writes: the copy differs from the value. A
/// note is at that operation. Storages that memrefs reach are not checked, as
/// it is not known which of them are the same memory. `storages` are those of
/// the block. Linear in the operations, operands and effects of the block.
LogicalResult verifyOffloadedUnchanged(Block &block,
                                       const StorageAnalysis &storages);

/// Emits an error for the first `commsched.offload` of `block` with an operand
/// that an operation makes which is tagged `must_recompute`: the copy on the
/// host is saved. A note is at that operation.
LogicalResult verifyOffloadedPolicies(Block &block);

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_JOINT_HOSTCOPIES_H
