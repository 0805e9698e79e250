//===- BenchRank.h - One rank of a benchmark --------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Joins the runtime as one rank, measures all points, and leaves. The first
// rank prints and writes the tables.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_BENCH_BENCHRANK_H
#define COMMSCHED_TOOLS_BENCH_BENCHRANK_H

#include "Plan.h"

namespace commsched::bench {

/// Makes the calling thread a rank: `rank`, or what the launcher says if it is
/// -1. Returns what went wrong, empty when all went well.
std::string runRank(const Settings &settings, int32_t rank);

} // namespace commsched::bench

#endif // COMMSCHED_TOOLS_BENCH_BENCHRANK_H
