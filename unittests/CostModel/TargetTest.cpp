//===- TargetTest.cpp - Tests of targets ----------------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/CostModel/Target.h"

#include "llvm/Support/MemoryBuffer.h"

#include "gtest/gtest.h"

#include <cmath>
#include <set>

using namespace mlir::commsched;
using namespace mlir::commsched::cost;

namespace {

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
