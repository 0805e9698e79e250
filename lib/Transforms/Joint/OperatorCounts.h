//===- OperatorCounts.h - Counts of operators of a partition ----*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_JOINT_OPERATORCOUNTS_H
#define COMMSCHED_LIB_TRANSFORMS_JOINT_OPERATORCOUNTS_H

#include "SplitFunction.h"

namespace mlir::commsched {

/// Emits three remarks `OperatorCounts`: how often each operator occurs in the
/// forward, in the backward, and among the operations that both have, the most
/// frequent first, in program order where they are as frequent.
void remarkOperatorCounts(const JointFunction &joint,
                          const partition::Split &split,
                          const PartitionNames &names);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_JOINT_OPERATORCOUNTS_H
