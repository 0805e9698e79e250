//===- ReductionTest.cpp - Tests of reductions ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Numerics/ElementTypes.h"

#include "Numerics/Elements.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace commsched::runtime;

/// The reduction of two elements by both functions, which must agree for two.
template <class T>
static T reduceTwo(commsched_type type, commsched_reduction reduction, T a,
                   T b) {
  T accumulated = a;
  accumulate(type, reduction, &accumulated, &b, 1);
  const void *sources[] = {&a, &b};
  T reduced;
  reduceInOrder(type, reduction, sources, 2, &reduced, 1);
  EXPECT_EQ(std::memcmp(&accumulated, &reduced, sizeof(T)), 0);
  return reduced;
}

/// Every pair of bytes as a T.
template <class T> static void checkBytes(commsched_type type) {
  std::vector<T> a, b;
  for (int i = 0; i < 256; ++i)
    for (int j = 0; j < 256; ++j) {
      a.push_back(static_cast<T>(i));
      b.push_back(static_cast<T>(j));
    }
  auto check = [&](commsched_reduction reduction, auto expected) {
    std::vector<T> result(a.size());
    const void *sources[] = {a.data(), b.data()};
    reduceInOrder(type, reduction, sources, 2, result.data(),
                  static_cast<int64_t>(a.size()));
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_EQ(result[i], static_cast<T>(expected(a[i], b[i])));
    result = a;
    accumulate(type, reduction, result.data(), b.data(),
               static_cast<int64_t>(a.size()));
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_EQ(result[i], static_cast<T>(expected(a[i], b[i])));
  };
  check(COMMSCHED_SUM, [](int x, int y) { return x + y; });
  check(COMMSCHED_PROD, [](int x, int y) { return x * y; });
  check(COMMSCHED_MIN, [](int x, int y) { return std::min(x, y); });
  check(COMMSCHED_MAX, [](int x, int y) { return std::max(x, y); });
  check(COMMSCHED_BAND, [](int x, int y) { return x & y; });
  check(COMMSCHED_BOR, [](int x, int y) { return x | y; });
  check(COMMSCHED_BXOR, [](int x, int y) { return x ^ y; });
}

TEST(Reduction, Integers) {
  checkBytes<int8_t>(COMMSCHED_I8);
  checkBytes<uint8_t>(COMMSCHED_UI8);
  EXPECT_EQ(reduceTwo(COMMSCHED_I32, COMMSCHED_SUM, INT32_MAX, 1), INT32_MIN);
  EXPECT_EQ(reduceTwo<uint16_t>(COMMSCHED_UI16, COMMSCHED_PROD, 65535, 65535),
            1);
  EXPECT_EQ(reduceTwo<int64_t>(COMMSCHED_I64, COMMSCHED_MIN, -1, 1), -1);
  EXPECT_EQ(reduceTwo<uint64_t>(COMMSCHED_UI64, COMMSCHED_MAX, UINT64_MAX, 1),
            UINT64_MAX);
}

TEST(Reduction, Bools) {
  for (uint8_t a : {0, 1, 2})
    for (uint8_t b : {0, 1, 4}) {
      auto reduce = [&](commsched_reduction reduction) {
        return reduceTwo<uint8_t>(COMMSCHED_I1, reduction, a, b);
      };
      bool x = a != 0, y = b != 0;
      EXPECT_EQ(reduce(COMMSCHED_BAND), x && y);
      EXPECT_EQ(reduce(COMMSCHED_MIN), x && y);
      EXPECT_EQ(reduce(COMMSCHED_BOR), x || y);
      EXPECT_EQ(reduce(COMMSCHED_MAX), x || y);
      EXPECT_EQ(reduce(COMMSCHED_BXOR), x != y);
    }
}

TEST(Reduction, Floats) {
  EXPECT_EQ(reduceTwo(COMMSCHED_F32, COMMSCHED_PROD, 1.5f, -2.0f), -3.0f);
  EXPECT_EQ(reduceTwo(COMMSCHED_F64, COMMSCHED_SUM, 0.5, 0.25), 0.75);
  EXPECT_TRUE(std::isnan(reduceTwo(COMMSCHED_F32, COMMSCHED_MAX, NAN, 1.0f)));
  EXPECT_TRUE(std::isnan(reduceTwo(COMMSCHED_F32, COMMSCHED_MIN, 1.0f, NAN)));
  EXPECT_TRUE(std::signbit(reduceTwo(COMMSCHED_F64, COMMSCHED_MIN, 0.0, -0.0)));
  EXPECT_FALSE(
      std::signbit(reduceTwo(COMMSCHED_F64, COMMSCHED_MAX, -0.0, 0.0)));
  EXPECT_EQ(reduceTwo(COMMSCHED_F32, COMMSCHED_MIN, -1.0f, 3.0f), -1.0f);
  EXPECT_EQ(reduceTwo(COMMSCHED_F32, COMMSCHED_MAX, -1.0f, 3.0f), 3.0f);
}

static uint16_t toBrain(float value) { return BFloat16::encode(value); }

TEST(Reduction, SmallFloatsRoundOnce) {
  // At 256 neighbours are 2 apart: added one by one, ones get lost.
  uint16_t large = toBrain(256), one = toBrain(1);
  const void *sources[] = {&large, &one, &one, &one, &one};
  uint16_t result;
  reduceInOrder(COMMSCHED_BF16, COMMSCHED_SUM, sources, 5, &result, 1);
  EXPECT_EQ(result, toBrain(260));
  reduceInOrder(COMMSCHED_BF16, COMMSCHED_AVG, sources, 5, &result, 1);
  EXPECT_EQ(result, toBrain(52));

  uint16_t accumulated = large;
  for (int i = 0; i < 4; ++i)
    accumulate(COMMSCHED_BF16, COMMSCHED_SUM, &accumulated, &one, 1);
  EXPECT_EQ(accumulated, toBrain(256));
  divideElements(COMMSCHED_BF16, &accumulated, 1, 4);
  EXPECT_EQ(accumulated, toBrain(64));

  // In a format without infinities too much is NaN.
  uint8_t most = Float8E4M3FN::encode(448);
  EXPECT_EQ(reduceTwo(COMMSCHED_F8E4M3FN, COMMSCHED_SUM, most, most), 0x7f);
}

TEST(Reduction, InTheOrderOfTheSources) {
  // 1 is lost in 2^24, but not in the difference.
  float sources[3] = {16777216.0f, 1.0f, -16777216.0f};
  const void *forward[] = {&sources[0], &sources[1], &sources[2]};
  const void *backward[] = {&sources[0], &sources[2], &sources[1]};
  float result;
  reduceInOrder(COMMSCHED_F32, COMMSCHED_SUM, forward, 3, &result, 1);
  EXPECT_EQ(result, 0);
  reduceInOrder(COMMSCHED_F32, COMMSCHED_SUM, backward, 3, &result, 1);
  EXPECT_EQ(result, 1);
}

TEST(Reduction, LongAndInPlace) {
  // More than a block, and the target is one of the sources.
  std::vector<int32_t> a(2500), b(2500);
  for (int32_t i = 0; i < 2500; ++i) {
    a[i] = i;
    b[i] = 10000 * i;
  }
  const void *sources[] = {a.data(), b.data()};
  reduceInOrder(COMMSCHED_I32, COMMSCHED_SUM, sources, 2, b.data(), 2500);
  for (int32_t i = 0; i < 2500; ++i)
    ASSERT_EQ(b[i], 10001 * i);
}
