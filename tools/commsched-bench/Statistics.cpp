//===- Statistics.cpp - Summaries of samples ------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Statistics.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cassert>

namespace commsched::bench {

int64_t getPercentile(llvm::ArrayRef<int64_t> sorted, int32_t percent) {
  assert(!sorted.empty() && percent >= 0 && percent <= 100);
  size_t rank = (sorted.size() * percent + 99) / 100;
  return sorted[rank == 0 ? 0 : rank - 1];
}

Summary summarize(std::vector<int64_t> samples) {
  assert(!samples.empty() && "nothing was measured");
  llvm::sort(samples);
  size_t middle = samples.size() / 2;
  Summary summary;
  summary.p5 = getPercentile(samples, 5);
  summary.median =
      samples.size() % 2 == 1
          ? samples[middle]
          : samples[middle - 1] + (samples[middle] - samples[middle - 1]) / 2;
  summary.p95 = getPercentile(samples, 95);
  return summary;
}

std::vector<int64_t> maximumOverRanks(llvm::ArrayRef<int64_t> perRank,
                                      int32_t ranks) {
  size_t samples = perRank.size() / ranks;
  std::vector<int64_t> result = perRank.take_front(samples).vec();
  for (int32_t rank = 1; rank < ranks; ++rank)
    for (size_t i = 0; i < samples; ++i)
      result[i] = std::max(result[i], perRank[rank * samples + i]);
  return result;
}

} // namespace commsched::bench
