//===- ProblemDump.h - A function for other schedulers ----------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes what a scheduler that does not read MLIR has to know of a function;
// README.md says what that is.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_BENCHMARKS_PEERS_PROBLEMDUMP_H
#define COMMSCHED_BENCHMARKS_PEERS_PROBLEMDUMP_H

#include "../common/LoneFunction.h"
#include "llvm/Support/JSON.h"

namespace mlir::commsched {

/// Writes an object. Emits an error when a cost or size is not known.
LogicalResult dumpFunction(llvm::json::OStream &json, LoneFunction &function);

} // namespace mlir::commsched

#endif // COMMSCHED_BENCHMARKS_PEERS_PROBLEMDUMP_H
