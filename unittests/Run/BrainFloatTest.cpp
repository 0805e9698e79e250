//===- BrainFloatTest.cpp - Tests of rounding to bf16 ---------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BrainFloat.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"
#include "gtest/gtest.h"

#include <cmath>
#include <limits>
#include <random>

using namespace mlir::commsched::run;

template <typename T> static uint32_t roundToBits(T value) {
  return llvm::bit_cast<uint32_t>(truncateToBrainFloat(value));
}

static float getFloat(uint32_t bits) { return llvm::bit_cast<float>(bits); }

TEST(BrainFloat, RoundsFloatsToNearestAndTiesToEven) {
  EXPECT_EQ(roundToBits(1.0f), 0x3f80u);
  EXPECT_EQ(roundToBits(-0.0f), 0x8000u);
  EXPECT_EQ(roundToBits(getFloat(0x3f808000)), 0x3f80u);
  EXPECT_EQ(roundToBits(getFloat(0x3f808001)), 0x3f81u);
  EXPECT_EQ(roundToBits(getFloat(0x3f818000)), 0x3f82u);
  EXPECT_EQ(roundToBits(getFloat(0x00008001)), 0x0001u);
}

TEST(BrainFloat, KeepsWhatIsNotFinite) {
  float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(roundToBits(infinity), 0x7f80u);
  EXPECT_EQ(roundToBits(-infinity), 0xff80u);
  EXPECT_EQ(roundToBits(std::numeric_limits<float>::max()), 0x7f80u);
  EXPECT_EQ(roundToBits(1e300), 0x7f80u);
  EXPECT_EQ(roundToBits(getFloat(0x7f800001)), 0x7fc0u);
  EXPECT_EQ(roundToBits(std::nan("")) & 0x7fc0u, 0x7fc0u);
}

TEST(BrainFloat, RoundsDoublesOnce) {
  // A float of it would be a tie.
  EXPECT_EQ(roundToBits(1 + std::ldexp(1, -8) + std::ldexp(1, -40)), 0x3f81u);
  EXPECT_EQ(roundToBits(1 + 3 * std::ldexp(1, -8) - std::ldexp(1, -40)),
            0x3f81u);
  std::mt19937_64 random(7);
  for (int i = 0; i < 100000; ++i) {
    // Exponents around those of floats, and few bits so that ties are many.
    double value =
        std::ldexp(double(int64_t(random()) >> 46), int(random() % 320) - 180);
    value += std::ldexp(value, -30) * (int(random() % 3) - 1);
    llvm::APFloat expected(value);
    bool losesInfo;
    expected.convert(llvm::APFloat::BFloat(),
                     llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    ASSERT_EQ(roundToBits(value), expected.bitcastToAPInt().getZExtValue())
        << value;
  }
}
