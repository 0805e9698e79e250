//===- Run.h - One rank's part of a benchmark -------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Joins the runtime as one rank, measures everything, and leaves. The first
// rank prints and writes.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_BENCH_RUN_H
#define COMMSCHED_TOOLS_BENCH_RUN_H

#include "Settings.h"

namespace commsched::bench {

/// Makes the calling thread a rank: `rank`, or what the launcher says if it is
/// -1. Returns what went wrong, empty when all went well.
std::string runRank(const Settings &settings, int32_t rank);

} // namespace commsched::bench

#endif // COMMSCHED_TOOLS_BENCH_RUN_H
