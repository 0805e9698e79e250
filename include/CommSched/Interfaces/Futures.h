//===- Futures.h - Rules of collectives in flight ---------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A future is consumed exactly once, by a wait in its own block. Only the
// constructs of the steady state hand futures over the boundary of a block:
// functions with `commsched.steady_state`, by their arguments and their
// terminator, and loops with `commsched.pipelined`, by what they carry.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_INTERFACES_FUTURES_H
#define COMMSCHED_INTERFACES_FUTURES_H

#include "mlir/IR/Operation.h"

namespace mlir::commsched {

/// On a function: it is the prologue, the steady state or the epilogue of a
/// step that repeats.
inline constexpr StringLiteral steadyStateAttrName = "commsched.steady_state";

/// On a loop: iterations overlap.
inline constexpr StringLiteral pipelinedAttrName = "commsched.pipelined";

/// Whether futures may be arguments of the blocks of `op`, and operands of
/// their terminators.
bool isSteadyStateConstruct(Operation *op);

/// Whether `value` is an argument of a construct of the steady state, or the
/// result of a pipelined loop: the collective, if it is one in flight, was
/// started elsewhere.
bool isCarriedValue(Value value);

/// Checks that the carried value `future` is consumed exactly once. Errors name
/// the argument or the result.
LogicalResult verifyCarriedFuture(Value future);

/// Whether `op` is a start whose wait is not in its block, or a wait whose
/// start is not.
bool isHalfOfPair(Operation *op);

} // namespace mlir::commsched

#endif // COMMSCHED_INTERFACES_FUTURES_H
