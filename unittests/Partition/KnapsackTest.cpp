//===- KnapsackTest.cpp - Tests of the 0/1 knapsack -----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/SavedValues.h"

#include "../Seeds.h"
#include "ReferenceKnapsack.h"

#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace mlir::commsched;
using namespace mlir::commsched::partition;
using namespace mlir::commsched::partition::testing;
using mlir::commsched::testing::Seeds;

namespace {

using Items = std::vector<KnapsackItem>;
using Indices = std::vector<int32_t>;

int64_t sumBytes(const Items &items, const Indices &indices) {
  int64_t sum = 0;
  for (int32_t index : indices)
    sum += items[index].bytes;
  return sum;
}

int64_t sumGain(const Items &items, const Indices &indices) {
  int64_t sum = 0;
  for (int32_t index : indices)
    sum += items[index].gain;
  return sum;
}

Items makeItems(uint32_t seed, size_t most, int64_t bytes, int64_t gain) {
  std::mt19937_64 random(seed);
  Items items(random() % (most + 1));
  for (KnapsackItem &item : items) {
    item.bytes = static_cast<int64_t>(random() % uint64_t(bytes));
    item.gain = static_cast<int64_t>(random() % uint64_t(gain));
  }
  return items;
}

TEST(KnapsackTest, TakesWhatGainsMostTogether) {
  // The densest item keeps the two others out.
  Items items = {{6, 7}, {5, 5}, {5, 5}};
  EXPECT_EQ(solveKnapsack(items, 10), (Indices{1, 2}));
  EXPECT_EQ(solveKnapsackGreedily(items, 10), (Indices{0}));
}

TEST(KnapsackTest, TakesNothingWithoutGainOrRoom) {
  Items items = {{0, 0}, {0, 3}, {1, 0}, {1, 1}};
  for (auto solve : {solveKnapsack, solveKnapsackGreedily}) {
    EXPECT_EQ(solve({}, 10), Indices{});
    EXPECT_EQ(solve(items, 0), (Indices{1}));
    EXPECT_EQ(solve(items, 1), (Indices{1, 3}));
    EXPECT_EQ(solve(items, 100), (Indices{1, 3}));
    EXPECT_EQ(solve(items, -1), Indices{});
  }
}

TEST(KnapsackTest, TakesAllThatFitsWithoutRounding) {
  // Every size is just above a number of steps.
  Items items(1000, {1001, 1});
  EXPECT_EQ(solveKnapsack(items, 1'001'000).size(), 1000u);
  EXPECT_LT(solveKnapsack(items, 1'000'999).size(), 1000u);
}

TEST(KnapsackTest, TakesHugeSizesAndGains) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  Items items = {{most, most / 4}, {most / 2, most / 4}, {most / 3, most / 4}};
  EXPECT_EQ(solveKnapsack(items, most), (Indices{1, 2}));
  EXPECT_EQ(solveKnapsackGreedily(items, most), (Indices{1, 2}));
  EXPECT_EQ(solveKnapsack(items, most / 2), (Indices{2}));
}

TEST(KnapsackTest, ChoosesWhatTryingAllChooses) {
  int32_t numTight = 0;
  for (uint64_t seed : Seeds(1500)) {
    SCOPED_TRACE(seed);
    // Small numbers have many ties.
    Items items =
        seed % 2 ? makeItems(seed, 11, 8, 6) : makeItems(seed, 11, 2000, 1000);
    int64_t capacity = seed % 2 ? seed / 2 % 40 : seed * 7 % 10'001;
    Indices chosen = solveKnapsack(items, capacity);
    Indices expected = ReferenceKnapsack::solve(items, capacity);
    ASSERT_EQ(chosen, expected);
    numTight += sumGain(items, chosen) <
                sumGain(items, solveKnapsack(items, 1'000'000));
  }
  EXPECT_GT(numTight, 150);
}

/// The limits of rounding: as if every size were a step larger, and as if none
/// were rounded.
TEST(KnapsackTest, LosesNoMoreThanRoundingDoes) {
  for (uint64_t seed : Seeds(300)) {
    SCOPED_TRACE(seed);
    Items items = makeItems(seed, 12, 1'000'000'000, 1000);
    int64_t capacity = 2'000'000'000 + 12'345 * int64_t(seed % 300);
    int64_t gain = sumGain(items, solveKnapsack(items, capacity));
    EXPECT_LE(gain, sumGain(items, ReferenceKnapsack::solve(items, capacity)));
    Items larger = items;
    for (KnapsackItem &item : larger)
      item.bytes += capacity / 10'000 + 1;
    EXPECT_GE(gain, sumGain(items, ReferenceKnapsack::solve(larger, capacity)));
  }
}

/// Where a step is as large as an item, rounding would take half of what fits.
TEST(KnapsackTest, LosesAtMostOneOfManySmallItems) {
  for (uint64_t seed : Seeds(3)) {
    std::mt19937_64 random(seed);
    Items items(4000);
    for (KnapsackItem &item : items)
      item = {int64_t(random() % 1'000'000), int64_t(random() % 1000)};
    int64_t capacity = 1'000'000'000 + seed;
    Indices chosen = solveKnapsack(items, capacity);
    EXPECT_LE(sumBytes(items, chosen), capacity);
    EXPECT_GE(sumGain(items, chosen) + 1000,
              sumGain(items, solveKnapsackGreedily(items, capacity)));
  }
}

TEST(KnapsackTest, GreedyIsNeverBetterThanExact) {
  int32_t numWorse = 0;
  for (uint64_t seed : Seeds(500)) {
    SCOPED_TRACE(seed);
    Items items = makeItems(seed, 40, 900, 100);
    int64_t capacity = seed * 13 % 10'001;
    Indices greedy = solveKnapsackGreedily(items, capacity);
    EXPECT_LE(sumBytes(items, greedy), capacity);
    int64_t exact = sumGain(items, solveKnapsack(items, capacity));
    EXPECT_LE(sumGain(items, greedy), exact);
    numWorse += sumGain(items, greedy) < exact;
  }
  EXPECT_GT(numWorse, 30);
}

/// Around the capacity up to which nothing is rounded, too.
TEST(KnapsackTest, FitsAndGainsNoLessWithMoreCapacity) {
  for (uint64_t seed : Seeds(60)) {
    SCOPED_TRACE(seed);
    Items items = makeItems(seed, 30, 3000, 100);
    int64_t last = 0;
    int64_t begin = seed % 2 ? 9'990 : seed % 60 * 300;
    for (int64_t capacity = begin; capacity < begin + 25; ++capacity) {
      Indices chosen = solveKnapsack(items, capacity);
      EXPECT_LE(sumBytes(items, chosen), capacity);
      EXPECT_GE(sumGain(items, chosen), last);
      last = sumGain(items, chosen);
    }
  }
}

} // namespace
