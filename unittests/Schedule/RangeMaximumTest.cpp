//===- RangeMaximumTest.cpp - Tests of range maxima -----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Model/RangeMaximum.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

namespace {

/// Whether the largest of the values at [first, last) is `expected`.
bool hasMaximum(const RangeMaximum &maxima, int32_t first, int32_t last,
                int64_t expected) {
  return maxima.exceeds(first, last, expected - 1) &&
         !maxima.exceeds(first, last, expected);
}

TEST(RangeMaximum, AddsToRanges) {
  RangeMaximum maxima({3, 1, 4, 1, 5});
  EXPECT_TRUE(hasMaximum(maxima, 0, 5, 5));
  EXPECT_TRUE(hasMaximum(maxima, 0, 2, 3));
  maxima.add(1, 4, 10);
  // Now 3, 11, 14, 11, 5.
  EXPECT_TRUE(hasMaximum(maxima, 0, 5, 14));
  EXPECT_TRUE(hasMaximum(maxima, 3, 5, 11));
  EXPECT_TRUE(hasMaximum(maxima, 0, 1, 3));
  maxima.add(0, 5, -20);
  EXPECT_TRUE(hasMaximum(maxima, 0, 5, -6));
  EXPECT_TRUE(hasMaximum(maxima, 4, 5, -15));
}

TEST(RangeMaximum, OfNothing) {
  constexpr int64_t low = std::numeric_limits<int64_t>::min() / 2;
  RangeMaximum none({});
  none.add(0, 0, 1);
  EXPECT_FALSE(none.exceeds(0, 0, low));
  RangeMaximum one({7});
  one.add(1, 0, 1);
  EXPECT_FALSE(one.exceeds(0, 0, low));
  EXPECT_FALSE(one.exceeds(1, 0, low));
  EXPECT_TRUE(hasMaximum(one, 0, 1, 7));
}

TEST(RangeMaximum, EqualsTheMaximumOfAVector) {
  for (uint64_t seed : Seeds(300)) {
    Random random(seed);
    std::vector<int64_t> values(1 + random.below(40));
    for (int64_t &value : values)
      value = random.below(200) - 100;
    RangeMaximum maxima(values);
    auto size = static_cast<int64_t>(values.size());
    for (int i = 0; i < 100; ++i) {
      int64_t first = random.below(size);
      int64_t last = first + 1 + random.below(size - first);
      if (random.percent(50)) {
        int64_t amount = random.below(100) - 50;
        for (int64_t place = first; place < last; ++place)
          values[place] += amount;
        maxima.add(static_cast<int32_t>(first), static_cast<int32_t>(last),
                   amount);
        continue;
      }
      ASSERT_TRUE(hasMaximum(
          maxima, static_cast<int32_t>(first), static_cast<int32_t>(last),
          *std::max_element(values.begin() + first, values.begin() + last)));
    }
  }
}

} // namespace
