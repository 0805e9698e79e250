//===- CostTable.h - The cost table that is written -------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes the table that `commsched-estimate-runtime=profile=` reads. Its time
// is the isolated one, out of place: the passes' model starts a collective, and
// a wait stands still until its data is there, which is what one call takes
// whose neighbours are not in flight. What was measured besides is in further
// columns, and in a list of its own where the columns that count would be equal
// (other types, reductions and groups of one size; in place): readers take one
// time for a collective, ranks, nodes and bytes.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_BENCH_COSTTABLE_H
#define COMMSCHED_TOOLS_BENCH_COSTTABLE_H

#include "Environment.h"
#include "Measurement.h"

#include "llvm/Support/Error.h"

namespace commsched::bench {

/// Fails when a table could not be written to `path`; changes nothing.
llvm::Error checkWritable(llvm::StringRef path);

/// `results` are those of the plan's points. On an error there is no new file,
/// and an old one is as it was.
llvm::Error writeCostTable(llvm::StringRef path, const Settings &settings,
                           const Plan &plan, const Environment &environment,
                           llvm::ArrayRef<PointResult> results);

} // namespace commsched::bench

#endif // COMMSCHED_TOOLS_BENCH_COSTTABLE_H
