//===- ListSchedule.h - Applies the list scheduler to a function *- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_LISTSCHEDULE_H
#define COMMSCHED_LIB_TRANSFORMS_LISTSCHEDULE_H

#include "CommSched/Analysis/BlockProblem.h"
#include "CommSched/Schedule/ListScheduler.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::commsched {

/// Orders every block of `function` that holds collectives, and emits a remark
/// for each of them. A block whose costs are needed (to reorder for overlap)
/// and cannot be told is left as it is, with a remark. `getCost` prices
/// operations; it is asked only to reorder for overlap, and may be null
/// otherwise. Returns whether anything moved.
FailureOr<bool> listSchedule(func::FuncOp function,
                             ::commsched::ListSchedulerOptions options,
                             BlockProblem::CostFunction getCost = nullptr);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_LISTSCHEDULE_H
