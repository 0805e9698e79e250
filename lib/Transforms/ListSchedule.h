//===- ListSchedule.h - Applies the list scheduler to a function *- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_TRANSFORMS_LISTSCHEDULE_H
#define COMMSCHED_LIB_TRANSFORMS_LISTSCHEDULE_H

#include "CommSched/Schedule/Inductor/ListScheduler.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::commsched {

class OperationCosts;

/// Orders every block of `function` that holds collectives, and emits a remark
/// for each of them. `costs` prices operations; null prices all of them at 0,
/// which only reordering for overlap minds. A block with a cost that is not
/// known is left as it is, with a remark. Returns whether anything moved.
FailureOr<bool> listSchedule(func::FuncOp function,
                             schedule::ListSchedulerOptions options,
                             OperationCosts *costs = nullptr);

} // namespace mlir::commsched

#endif // COMMSCHED_LIB_TRANSFORMS_LISTSCHEDULE_H
