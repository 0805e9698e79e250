//===- ComputeCostTest.cpp - Tests of the roofline model ------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/CostModel/Target.h"

#include "gtest/gtest.h"

#include <limits>

using namespace mlir::commsched;
using namespace mlir::commsched::cost;

namespace {

Target makeTarget() {
  Target target;
  target.peakTflopsF32 = 50;
  target.peakTflopsBF16 = 1000;
  target.memoryGBs = 2000;
  target.kernelLaunchNs = 0;
  return target;
}

TEST(ComputeCost, TakesTheLargerOfArithmeticAndMemory) {
  Target target = makeTarget();
  // 1e9 flops at 1e15 a second; 4e6 bytes at 2e12 a second.
  EXPECT_EQ(computeTimeNs(target, 1000000000, ElementKind::BF16, 100), 1000);
  EXPECT_EQ(computeTimeNs(target, 1000, ElementKind::BF16, 4000000), 2000);
  EXPECT_EQ(computeTimeNs(target, 1000000000, ElementKind::F32, 100), 20000);
}

TEST(ComputeCost, EfficienciesAndLaunch) {
  Target target = makeTarget();
  target.computeEfficiency = 0.8;
  target.memoryEfficiency = 0.5;
  target.kernelLaunchNs = 3000;
  EXPECT_EQ(computeTimeNs(target, 1000000000, ElementKind::BF16, 0), 4250);
  EXPECT_EQ(computeTimeNs(target, 0, ElementKind::BF16, 4000000), 7000);
  EXPECT_EQ(computeTimeNs(target, 0, ElementKind::BF16, 0), 0);
}

TEST(ComputeCost, RoundsToNearestHalvesUp) {
  Target target = makeTarget();
  EXPECT_EQ(computeTimeNs(target, 0, ElementKind::F32, 999), 0);
  EXPECT_EQ(computeTimeNs(target, 0, ElementKind::F32, 1000), 1);
  EXPECT_EQ(computeTimeNs(target, 0, ElementKind::F32, 2999), 1);
  EXPECT_EQ(computeTimeNs(target, 0, ElementKind::F32, 3000), 2);
}

TEST(ComputeCost, NegativeAndHugeCounts) {
  Target target = makeTarget();
  constexpr int64_t huge = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(computeTimeNs(target, -5, ElementKind::F32, -7), 0);
  EXPECT_EQ(computeTimeNs(target, -5, ElementKind::F32, 2000), 1);
  ASSERT_FALSE(bool(target.setField("memory_gb_s", 0.001)));
  EXPECT_EQ(computeTimeNs(target, 0, ElementKind::F32, huge), huge);
  EXPECT_EQ(computeTimeNs(target, 1e308, ElementKind::F32, 0), huge);
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(computeTimeNs(target, nan, ElementKind::F32, 0), 0);
}

} // namespace
