//===- KnapsackTest.cpp - Tests of the 0/1 knapsack -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/SavedValues.h"
#include "TestGraphs.h"

#include <vector>

using namespace mlir::commsched::partition::testing;

namespace {

/// Solves the knapsack by trying every choice. The tests compare the fast
/// solver with it, including ties.
class ReferenceKnapsack {
public:
  /// No more than 20 items; sizes are not rounded.
  static std::vector<int32_t> solve(const std::vector<KnapsackItem> &items,
                                    int64_t capacity) {
    std::vector<int32_t> halved;
    std::vector<int32_t> best;
    for (size_t i = 0; i < items.size(); ++i)
      if (items[i].gain > 0 && items[i].bytes <= capacity)
        (items[i].bytes == 0 ? best : halved)
            .push_back(static_cast<int32_t>(i));
    if (capacity < 0)
      return {};
    std::vector<uint32_t> choices = listBest(items, halved, capacity);
    keepFewestLater(items, halved, 0, halved.size(), choices);
    for (size_t i = 0; i < halved.size(); ++i)
      if (choices[0] >> i & 1)
        best.push_back(halved[i]);
    std::sort(best.begin(), best.end());
    return best;
  }

private:
  using Items = std::vector<KnapsackItem>;
  using Indices = std::vector<int32_t>;

  /// The bytes that `choice` takes of the items [begin, end).
  static int64_t measure(const Items &items, const Indices &indices,
                         uint32_t choice, size_t begin, size_t end) {
    int64_t bytes = 0;
    for (size_t i = begin; i < end; ++i)
      if (choice >> i & 1)
        bytes += items[indices[i]].bytes;
    return bytes;
  }

  /// All choices with the most gain and the fewest bytes.
  static std::vector<uint32_t>
  listBest(const Items &items, const Indices &indices, int64_t capacity) {
    std::vector<uint32_t> best;
    int64_t most = -1;
    int64_t fewest = 0;
    for (uint32_t choice = 0; choice < (1u << indices.size()); ++choice) {
      int64_t bytes = measure(items, indices, choice, 0, indices.size());
      int64_t gain = 0;
      for (size_t i = 0; i < indices.size(); ++i)
        if (choice >> i & 1)
          gain += items[indices[i]].gain;
      if (bytes > capacity)
        continue;
      if (gain > most || (gain == most && bytes < fewest)) {
        best.clear();
        most = gain;
        fewest = bytes;
      }
      if (gain == most && bytes == fewest)
        best.push_back(choice);
    }
    return best;
  }

  /// Of `choices` those with the fewest bytes in the later half, and so on.
  static void keepFewestLater(const Items &items, const Indices &indices,
                              size_t begin, size_t end,
                              std::vector<uint32_t> &choices) {
    if (end - begin < 2)
      return;
    size_t middle = begin + (end - begin) / 2;
    int64_t fewest = std::numeric_limits<int64_t>::max();
    for (uint32_t choice : choices)
      fewest = std::min(fewest, measure(items, indices, choice, middle, end));
    choices.erase(std::remove_if(choices.begin(), choices.end(),
                                 [&](uint32_t choice) {
                                   return measure(items, indices, choice,
                                                  middle, end) > fewest;
                                 }),
                  choices.end());
    keepFewestLater(items, indices, begin, middle, choices);
    keepFewestLater(items, indices, middle, end, choices);
  }
};

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
