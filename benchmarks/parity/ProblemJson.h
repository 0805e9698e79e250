//===- ProblemJson.h - A scheduling problem as JSON -------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What another scheduler has to know of a block to schedule it too: the
// scheduling problem as BlockProblem sees it, and what an order costs.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_BENCHMARKS_PARITY_PROBLEMJSON_H
#define COMMSCHED_BENCHMARKS_PARITY_PROBLEMJSON_H

#include "CommSched/Analysis/StepReport.h"
#include "llvm/Support/JSON.h"

namespace mlir::commsched {

/// Writes the attributes `nodes` (arrays of kind, cost in nanoseconds, stream
/// or -1, whether expensive, start of a wait or -1), `dependences` (arrays of
/// from, to, kind) and `buffers` (arrays of bytes, producer or -1, whether
/// freed, users) of the current object.
void writeProblem(llvm::json::OStream &json, const BlockProblem &block);

/// Writes the attribute `name` of the current object: step time, exposed
/// communication and peak memory.
void writeCosts(llvm::json::OStream &json, StringRef name,
                const StepReport &report);

} // namespace mlir::commsched

#endif // COMMSCHED_BENCHMARKS_PARITY_PROBLEMJSON_H
