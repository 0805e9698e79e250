//===- IsotonicRegressionTest.cpp - Tests of isotonic regression ----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/CostModel/MeasuredTable.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <limits>
#include <random>

using namespace mlir::commsched;
using namespace mlir::commsched::cost;

namespace {

/// The minimax formula: at i, the largest over j <= i of the smallest over
/// k >= i of the mean of j..k.
std::vector<double> minimaxReference(const std::vector<double> &values) {
  std::vector<double> result(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    double outer = -std::numeric_limits<double>::infinity();
    for (size_t j = 0; j <= i; ++j) {
      double inner = std::numeric_limits<double>::infinity();
      double sum = 0;
      for (size_t k = j; k < values.size(); ++k) {
        sum += values[k];
        if (k >= i)
          inner = std::min(inner, sum / (k - j + 1));
      }
      outer = std::max(outer, inner);
    }
    result[i] = outer;
  }
  return result;
}

TEST(IsotonicRegression, ByHand) {
  EXPECT_EQ(isotonicRegression({}), std::vector<double>());
  EXPECT_EQ(isotonicRegression({5.0}), std::vector<double>({5.0}));
  EXPECT_EQ(isotonicRegression({1.0, 2.0, 2.0, 7.0}),
            std::vector<double>({1, 2, 2, 7}));
  EXPECT_EQ(isotonicRegression({1.0, 6.0, 2.0, 7.0}),
            std::vector<double>({1, 4, 4, 7}));
  EXPECT_EQ(isotonicRegression({9.0, 6.0, 3.0}),
            std::vector<double>({6, 6, 6}));
  // The second violation pulls the first block down as well.
  EXPECT_EQ(isotonicRegression({4.0, 8.0, 6.0, 1.0}),
            std::vector<double>({4, 5, 5, 5}));
}

TEST(IsotonicRegression, AgreesWithMinimaxOnRandomRows) {
  std::mt19937 random(7);
  std::uniform_int_distribution<int> length(1, 40);
  std::uniform_int_distribution<int> value(0, 12);
  for (int round = 0; round < 300; ++round) {
    std::vector<double> values(length(random));
    for (double &v : values)
      v = value(random);
    std::vector<double> smooth = isotonicRegression(values);
    std::vector<double> reference = minimaxReference(values);
    ASSERT_EQ(smooth.size(), reference.size());
    for (size_t i = 0; i < smooth.size(); ++i)
      ASSERT_NEAR(smooth[i], reference[i], 1e-9) << "round " << round;
    ASSERT_TRUE(std::is_sorted(smooth.begin(), smooth.end()));
  }
}

} // namespace
