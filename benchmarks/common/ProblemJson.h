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

#ifndef COMMSCHED_BENCHMARKS_COMMON_PROBLEMJSON_H
#define COMMSCHED_BENCHMARKS_COMMON_PROBLEMJSON_H

#include "CommSched/Report/StepReport.h"
#include "llvm/Support/JSON.h"

namespace mlir::commsched {

/// Writes the attribute `nodes` of the current object: arrays of kind, cost in
/// nanoseconds, stream or -1, whether expensive, start of a wait or -1.
void writeNodes(llvm::json::OStream &json, const BlockProblem &block);

/// Writes the attributes `dependences` (arrays of from, to, kind) and `buffers`
/// (arrays of bytes, producer or -1, whether freed, users) of the current
/// object.
void writeConstraints(llvm::json::OStream &json,
                      const schedule::Problem &problem);

/// Writes step time, exposed communication and peak memory into the current
/// object.
void writeCosts(llvm::json::OStream &json, const StepReport &report);

} // namespace mlir::commsched

#endif // COMMSCHED_BENCHMARKS_COMMON_PROBLEMJSON_H
