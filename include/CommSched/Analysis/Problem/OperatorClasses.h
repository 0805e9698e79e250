//===- OperatorClasses.h - Classes of operations ----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The operator class of any operation, registered or not: what it says by
// `OperatorClassOpInterface`, else what its traits and other interfaces tell.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_PROBLEM_OPERATORCLASSES_H
#define COMMSCHED_ANALYSIS_PROBLEM_OPERATORCLASSES_H

#include "CommSched/Partition/OperatorClass.h"
#include "mlir/IR/Operation.h"

namespace mlir::commsched {

/// The class of `op`. In this order:
///  * `OperatorClassOpInterface`;
///  * Collective: starts, waits, blocking collectives, and whatever says that
///    it communicates or has operations in its regions that do or might;
///  * Constant: the trait `ConstantLike`;
///  * View: all results are, by `AliasOpInterface` or `ViewLikeOpInterface`;
///  * Pointwise: the trait `Elementwise`, and casts;
///  * ComputeIntensive: `isExpensive` of `CostOpInterface`;
///  * Other.
/// Linear in the operations nested in `op`.
partition::OperatorClass getOperatorClass(Operation *op);

/// Whether a value of `type` is a scalar: an index, an offset, a factor.
bool isNumber(Type type);

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_PROBLEM_OPERATORCLASSES_H
