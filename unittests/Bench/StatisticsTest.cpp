//===- StatisticsTest.cpp - Tests of summaries of samples -----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Measurement.h"

#include "gtest/gtest.h"

#include <numeric>

using namespace commsched::bench;

namespace {

TEST(StatisticsTest, TakesNearestRanks) {
  std::vector<int64_t> hundred(100);
  std::iota(hundred.begin(), hundred.end(), 1);
  EXPECT_EQ(getPercentile(hundred, 0), 1);
  EXPECT_EQ(getPercentile(hundred, 5), 5);
  EXPECT_EQ(getPercentile(hundred, 95), 95);
  EXPECT_EQ(getPercentile(hundred, 100), 100);
  // 5 % of twenty is one, 95 % nineteen.
  llvm::ArrayRef<int64_t> twenty = llvm::ArrayRef(hundred).take_front(20);
  EXPECT_EQ(getPercentile(twenty, 5), 1);
  EXPECT_EQ(getPercentile(twenty, 95), 19);
  EXPECT_EQ(getPercentile({7}, 5), 7);
  EXPECT_EQ(getPercentile({7}, 95), 7);
}

TEST(StatisticsTest, SummarizesInAnyOrder) {
  Summary odd = summarize({30, 10, 20});
  EXPECT_EQ(odd.p5, 10);
  EXPECT_EQ(odd.median, 20);
  EXPECT_EQ(odd.p95, 30);
  Summary even = summarize({40, 11, 20, 1000000});
  EXPECT_EQ(even.median, 30);
  EXPECT_EQ(even.p5, 11);
  EXPECT_EQ(even.p95, 1000000);
  EXPECT_EQ(summarize({5}).median, 5);
}

TEST(StatisticsTest, DoesNotOverflowInTheMiddle) {
  int64_t large = int64_t(1) << 62;
  EXPECT_EQ(summarize({large, large + 2}).median, large + 1);
}

TEST(StatisticsTest, TakesTheSlowestRankOfEachSample) {
  EXPECT_EQ(maximumOverRanks({1, 9, 3, 4, 5, 6}, 2),
            (std::vector<int64_t>{4, 9, 6}));
  EXPECT_EQ(maximumOverRanks({1, 9, 3}, 1), (std::vector<int64_t>{1, 9, 3}));
}

} // namespace
