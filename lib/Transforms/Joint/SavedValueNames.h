//===- SavedValueNames.h - What the user says is saved ----------*- C++ -*-===//
//-*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads `commsched.saved_values` of a joint function, which takes the decision
// out of the partitioner's hands, and says where a decision cannot be followed.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_JOINT_SAVEDVALUENAMES_H
#define COMMSCHED_LIB_TRANSFORMS_JOINT_SAVEDVALUENAMES_H

#include "CommSched/Analysis/Joint/JointFunction.h"
#include "CommSched/Partition/Split.h"

#include <vector>

namespace mlir::commsched {

/// The values that `commsched.saved_values` names, ascending; empty without the
/// attribute. Emits an error for a name that no node has (JointFunction's
/// names), that of something that cannot be saved, and one that occurs twice.
FailureOr<std::vector<partition::NodeId>>
readSavedValues(const JointFunction &joint);

/// Emits the error that `conflict` is, with a note at the other node.
InFlightDiagnostic emitConflict(const JointFunction &joint,
                                const partition::PartitionConflict &conflict);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_JOINT_SAVEDVALUENAMES_H
