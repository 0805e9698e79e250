//===- RandomState.h - The states of random number generators ---*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An operator that is given the state of a generator draws the same random
// numbers whenever it is computed. The state is an argument with the role
// "rng_state", or read by an operator of this name.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_DIALECT_RANDOMSTATE_H
#define COMMSCHED_DIALECT_RANDOMSTATE_H

#include "llvm/ADT/StringRef.h"

namespace mlir::commsched {

/// The `commsched.compute` that yields the generator's state.
inline constexpr llvm::StringLiteral getStateCallee = "rng.get_state";

} // namespace mlir::commsched

#endif // COMMSCHED_DIALECT_RANDOMSTATE_H
