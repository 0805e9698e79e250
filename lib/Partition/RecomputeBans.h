//===- RecomputeBans.h - What a cut and its bans agree on ---------* -*- C++
//-*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What both the bans from recomputation and the cut's weights ask of a node.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_PARTITION_RECOMPUTEBANS_H
#define COMMSCHED_LIB_PARTITION_RECOMPUTEBANS_H

#include "CommSched/Partition/JointGraph.h"

namespace mlir::commsched::partition {

/// The class by which operations are found to be fusible with the node.
OperatorClass getFusionClass(const JointNode &node);

/// Whether computing the node again takes nothing: views, constants.
bool isFreeToRepeat(const JointNode &node);

} // namespace mlir::commsched::partition

#endif // COMMSCHED_LIB_PARTITION_RECOMPUTEBANS_H
