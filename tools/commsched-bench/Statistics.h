//===- Statistics.h - Summaries of samples ----------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is kept of the times of one thing measured often: the order statistics,
// which a few disturbed samples do not move.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_TOOLS_BENCH_STATISTICS_H
#define COMMSCHED_TOOLS_BENCH_STATISTICS_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace commsched::bench {

/// Nanoseconds.
struct Summary {
  int64_t p5 = 0;
  int64_t median = 0;
  int64_t p95 = 0;
};

/// The sample below or at which `percent` of the samples lie, counted up: the
/// nearest rank, always one of the samples. `sorted` is ascending and not
/// empty, `percent` from 0 to 100.
int64_t getPercentile(llvm::ArrayRef<int64_t> sorted, int32_t percent);

/// `samples` must not be empty. The median of an even number is the mean of the
/// two in the middle, rounded down.
Summary summarize(std::vector<int64_t> samples);

/// `perRank` holds the samples of one rank after those of another. The result
/// has each sample's largest value over the ranks.
std::vector<int64_t> maximumOverRanks(llvm::ArrayRef<int64_t> perRank,
                                      int32_t ranks);

} // namespace commsched::bench

#endif // COMMSCHED_TOOLS_BENCH_STATISTICS_H
