//===- OperatorClasses.h - Classes of operations ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Classifies single operations, registered or not: by the interfaces that they
// implement, else by their traits.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_PROBLEM_OPERATORCLASSES_H
#define COMMSCHED_ANALYSIS_PROBLEM_OPERATORCLASSES_H

#include "CommSched/Support/OperatorClass.h"
#include "mlir/IR/Operation.h"
#include <optional>

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
OperatorClass getOperatorClass(Operation *op);

/// The class of `op`; of a copy of a bucket, that of what a compiler that fuses
/// operations is given for it.
OperatorClass getFusionClass(Operation *op);

/// Whether a value of `type` is a scalar: an index, an offset, a factor.
bool isNumber(Type type);

/// Whether `op` converts a tensor from one floating-point type to another,
/// rounding to the nearest, and does nothing else; operators of PyTorch that
/// are known to do so included. Casts of integers are not included, as their
/// types are signless.
bool isCast(Operation *op);

/// Whether `op` reads only dimensions of its operands, as `tensor.dim` does.
bool readsOnlyDimensions(Operation *op);

/// The dimension that `op` yields as an index, if the type of its operand fixes
/// it. The operation then does not need the contents of its operand.
std::optional<int64_t> getStaticDimension(Operation *op);

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_PROBLEM_OPERATORCLASSES_H
