//===- ProblemDump.h - A function for other schedulers ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the scheduling problem of a function for schedulers that do not read
// MLIR. README.md describes the format.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_BENCHMARKS_PEERS_PROBLEMDUMP_H
#define COMMSCHED_BENCHMARKS_PEERS_PROBLEMDUMP_H

#include "LoneFunction.h"
#include "llvm/Support/JSON.h"

namespace mlir::commsched {

/// Writes an object. Emits an error when a cost or size is not known.
LogicalResult dumpFunction(llvm::json::OStream &json, LoneFunction &function);

} // namespace mlir::commsched

#endif // COMMSCHED_BENCHMARKS_PEERS_PROBLEMDUMP_H
