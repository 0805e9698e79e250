//===- SchedulingGroups.h - Scheduling groups of XLA ------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_CONVERSION_COMMSCHEDTOSTABLEHLO_SCHEDULINGGROUPS_H
#define COMMSCHED_LIB_CONVERSION_COMMSCHEDTOSTABLEHLO_SCHEDULINGGROUPS_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::commsched::stablehlo {

/// Gives asynchronous pairs and what stands between start and done the
/// frontend attribute `_scheduling_group_id`, numbered from 1 in the order of
/// the module. A group is a stretch of a block that ends with a done, without
/// the starts of which the done comes later.
///
/// XLA rejects a group if a path of data leaves it and comes back
/// (xla/service/legalize_scheduling_annotations.cc). No path does: a stretch
/// is contiguous, and a start that belongs to a later group is used by its done
/// only. A block in which an operation has the attribute already is left alone,
/// and so is a private function: XLA inlines it at each call, and copies of a
/// group would be one.
void annotateSchedulingGroups(ModuleOp module);

} // namespace mlir::commsched::stablehlo

#endif // COMMSCHED_LIB_CONVERSION_COMMSCHEDTOSTABLEHLO_SCHEDULINGGROUPS_H
