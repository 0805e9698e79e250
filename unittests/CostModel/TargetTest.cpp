//===- TargetTest.cpp - Tests of targets and the times of computation -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/CostModel/Target.h"
#include "CommSched/CostModel/ProductWaves.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

#include <cmath>
#include <limits>
#include <set>

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

/// The example of NVIDIA's guide: 108 multiprocessors, and tiles of 256 x 128.
Target makeA100() { return *getTargetPreset("a100"); }

ProductShape makeProduct(int64_t m, int64_t n, int64_t k, int64_t batch = 1) {
  return {m, n, k, batch};
}

TEST(ProductWaves, PresetsHaveMultiprocessors) {
  for (llvm::StringRef name : targetPresetNames())
    EXPECT_GT(getTargetPreset(name)->multiprocessors, 0) << name.str();
}

TEST(ProductWaves, CountsTilesAndWaves) {
  // 12 x 9 tiles of 256 x 128 are one full wave of 108 multiprocessors.
  ProductTiling full =
      chooseTiling(makeA100(), makeProduct(12 * 256, 9 * 128, 8192));
  EXPECT_EQ(full.tileRows, 256);
  EXPECT_EQ(full.tileColumns, 128);
  EXPECT_EQ(full.tiles, 108);
  EXPECT_EQ(full.waves, 1);
  // What is lost is the time in which the pipelines fill.
  EXPECT_DOUBLE_EQ(full.efficiency, 8192.0 / (8192 + 128));
}

TEST(ProductWaves, OneRowMoreNeedsAnotherRowOfTiles) {
  double full =
      chooseTiling(makeA100(), makeProduct(12 * 256, 9 * 128, 8192)).efficiency;
  double more =
      chooseTiling(makeA100(), makeProduct(12 * 256 + 1, 9 * 128, 8192))
          .efficiency;
  EXPECT_LT(more, 0.9 * full);
}

TEST(ProductWaves, BatchFillsTheDevice) {
  Target target = makeA100();
  double one = chooseTiling(target, makeProduct(256, 128, 4096)).efficiency;
  double many =
      chooseTiling(target, makeProduct(256, 128, 4096, 108)).efficiency;
  EXPECT_LT(one, 0.1);
  EXPECT_GT(many, 0.9);
}

TEST(ProductWaves, SmallProductsTakeSmallTiles) {
  ProductTiling tiling = chooseTiling(makeA100(), makeProduct(64, 64, 512));
  EXPECT_EQ(tiling.tileRows, 64);
  EXPECT_EQ(tiling.tileColumns, 64);
}

TEST(ProductWaves, ChunksAreSlowerThanTheWhole) {
  Target target = *getTargetPreset("h100");
  ProductShape whole = makeProduct(8192, 1792, 4096);
  double previous = 1;
  for (int64_t count : {2, 4, 8, 16, 32}) {
    double slowdown = getChunkSlowdown(
        target, whole, makeProduct(8192 / count, 1792, 4096), count);
    EXPECT_GE(slowdown, previous) << count;
    previous = slowdown;
  }
  EXPECT_GT(previous, 1.3);
}

TEST(ProductWaves, LargeProductsLoseLittle) {
  double slowdown = getChunkSlowdown(*getTargetPreset("h100"),
                                     makeProduct(65536, 14336, 4096),
                                     makeProduct(16384, 14336, 4096), 4);
  EXPECT_LT(slowdown, 1.05);
}

TEST(ProductWaves, SumsOfChunksFillTheirPipelinesAgain) {
  double slowdown =
      getChunkSlowdown(*getTargetPreset("h100"), makeProduct(8192, 4096, 2048),
                       makeProduct(8192, 4096, 512), 4);
  EXPECT_DOUBLE_EQ(slowdown, 4 * (512 + 128.0) / (2048 + 128));
}

TEST(ProductWaves, ChunksAreNeverFasterThanTheWhole) {
  Target target = makeA100();
  for (int64_t m = 32; m < 4096; m += 96)
    for (int64_t n : {96, 640, 3000})
      for (int64_t count : {2, 3, 5})
        ASSERT_GE(getChunkSlowdown(target, makeProduct(m * count, n, 1024),
                                   makeProduct(m, n, 1024), count),
                  1)
            << m << " " << n << " " << count;
}

TEST(ProductWaves, UnknownMultiprocessorsQuantizeNothing) {
  Target target = makeA100();
  target.multiprocessors = 0;
  EXPECT_EQ(getChunkSlowdown(target, makeProduct(512, 512, 512),
                             makeProduct(64, 512, 512), 8),
            1);
}

TEST(ProductWaves, HugeSizesDoNotOverflow) {
  constexpr int64_t huge = int64_t(1) << 62;
  ProductTiling tiling =
      chooseTiling(makeA100(), makeProduct(huge, huge, huge, huge));
  EXPECT_GT(tiling.efficiency, 0.9);
  EXPECT_LE(tiling.efficiency, 1);
}

std::string messageOf(llvm::Error error) {
  return llvm::toString(std::move(error));
}

TEST(Target, PresetsHoldValidFields) {
  for (llvm::StringRef name : targetPresetNames()) {
    std::optional<Target> target = getTargetPreset(name);
    ASSERT_TRUE(target) << name.str();
    EXPECT_EQ(target->name, name);
    for (const TargetField &field : targetFields()) {
      double value = *target->getField(field.key);
      EXPECT_EQ(messageOf(target->setField(field.key, value)), "");
    }
  }
  EXPECT_FALSE(getTargetPreset("H100"));
  EXPECT_FALSE(getTargetPreset(""));
}

TEST(Target, DataSheetFigures) {
  EXPECT_DOUBLE_EQ(getTargetPreset("a100")->peakFlops(ElementKind::BF16),
                   312e12);
  EXPECT_DOUBLE_EQ(getTargetPreset("h100")->memoryGBs, 3350);
  EXPECT_DOUBLE_EQ(getTargetPreset("h200")->memoryGBs, 4800);
  EXPECT_DOUBLE_EQ(getTargetPreset("b200")->peakFlops(ElementKind::F8),
                   4500e12);
}

TEST(Target, FieldsAreNamedOnceAndSettable) {
  std::set<std::string> keys;
  for (const TargetField &field : targetFields()) {
    EXPECT_TRUE(keys.insert(field.key.str()).second) << field.key.str();
    Target target;
    ASSERT_EQ(messageOf(target.setField(field.key, field.minimum)), "");
    EXPECT_EQ(target.getField(field.key), field.minimum);
  }
  EXPECT_FALSE(Target().getField("speed"));
}

TEST(Target, RejectsUnknownFieldsAndValuesOutOfRange) {
  Target target;
  EXPECT_EQ(messageOf(target.setField("speed", 1)),
            "unknown target field 'speed'");
  EXPECT_EQ(messageOf(target.setField("memory_gb_s", -1)),
            "target field 'memory_gb_s' must be between 1e-06 and 1e+09, got "
            "-1");
  EXPECT_EQ(messageOf(target.setField("intra_channels", 2.5)),
            "target field 'intra_channels' must be a whole number, got 2.5");
  EXPECT_NE(messageOf(target.setField("nic_gb_s", std::nan(""))), "");
  EXPECT_NE(messageOf(target.setField("nvls", 2)), "");
  EXPECT_DOUBLE_EQ(target.memoryGBs, Target().memoryGBs);
}

TEST(Target, PeaksFallBackToWiderTypes) {
  Target target;
  target.peakTflopsF32 = 64;
  EXPECT_DOUBLE_EQ(target.peakFlops(ElementKind::F64), 1e12);
  EXPECT_DOUBLE_EQ(target.peakFlops(ElementKind::F8), 64e12);
  EXPECT_DOUBLE_EQ(target.peakFlops(ElementKind::I8), 64e12);
  target.peakTflopsF16 = 100;
  EXPECT_DOUBLE_EQ(target.peakFlops(ElementKind::BF16), 100e12);
  EXPECT_DOUBLE_EQ(target.peakFlops(ElementKind::F8), 100e12);
  target.peakTflopsBF16 = 120;
  EXPECT_DOUBLE_EQ(target.peakFlops(ElementKind::F8), 120e12);
  EXPECT_DOUBLE_EQ(target.peakFlops(ElementKind::F16), 100e12);
}

TEST(Target, DocumentationNamesEveryFieldAndPreset) {
  auto page =
      llvm::MemoryBuffer::getFile(COMMSCHED_DOCS "/guide/cost-model.md");
  ASSERT_TRUE(bool(page)) << page.getError().message();
  llvm::StringRef text = (*page)->getBuffer();
  for (const TargetField &field : targetFields())
    EXPECT_TRUE(text.contains(
        ("| `" + field.key + "` | " + field.description + " |").str()))
        << field.key.str();
  for (llvm::StringRef name : targetPresetNames())
    EXPECT_TRUE(text.contains((" " + name + " |").str())) << name.str();
}

} // namespace
