//===- SitesTest.cpp - Tests of the checks of launches --------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Sites.h"

#include "../StatusText.h"

#include <gtest/gtest.h>

using namespace commsched::runtime;

namespace {
/// A rank of a group of 4, and two tensors of i8.
struct LaunchCheckTest : ::testing::Test {
  LaunchCheckTest() {
    group.name = "dp";
    group.members = {0, 1, 2, 3};
    group.rank = 2;
    site.name = "s";
    launch.site = &site;
    launch.group = &group;
    launch.inputs = {memory, memory + 8};
    launch.outputs = {memory + 64, memory + 128};
  }

  void setKind(commsched_kind kind, int64_t inputs, int64_t outputs) {
    site.kind = kind;
    site.tensors.assign(2, {{COMMSCHED_I8, 1, "i8"}, inputs, outputs, {}, {}});
  }

  std::string check() { return toText(checkLaunch(launch)); }

  char memory[256];
  Group group;
  Site site;
  Launch launch;
};
} // namespace

TEST_F(LaunchCheckTest, Nulls) {
  setKind(COMMSCHED_ALL_GATHER, 8, 32);
  EXPECT_EQ(check(), "no error");
  launch.inputs[1] = nullptr;
  EXPECT_EQ(check(), "all_gather 's': input 1 is null");
  launch.inputs[1] = memory + 8;
  launch.outputs[0] = nullptr;
  EXPECT_EQ(check(), "all_gather 's': output 0 is null");
  setKind(COMMSCHED_ALL_GATHER, 0, 0);
  launch.inputs = {nullptr, nullptr};
  EXPECT_EQ(check(), "no error");
}

TEST_F(LaunchCheckTest, OnlySendersNeedInputs) {
  setKind(COMMSCHED_BROADCAST, 8, 8);
  launch.inputs = {nullptr, nullptr};
  site.peer = 1;
  EXPECT_EQ(check(), "no error");
  site.peer = 2;
  EXPECT_EQ(check(), "broadcast 's': input 0 is null");
  setKind(COMMSCHED_PERMUTE, 8, 8);
  site.pairs = {{0, 2}};
  EXPECT_EQ(check(), "no error");
  site.pairs = {{2, 0}};
  EXPECT_EQ(check(), "permute 's': input 0 is null");
}

TEST_F(LaunchCheckTest, InPlace) {
  setKind(COMMSCHED_ALL_GATHER, 8, 32);
  launch.inputs[0] = memory + 64 + 16;
  EXPECT_EQ(check(), "no error");
  launch.inputs[0] = memory + 64 + 8;
  EXPECT_EQ(check(),
            "all_gather 's': input 0 overlaps output 0, but not as in place");
  setKind(COMMSCHED_REDUCE_SCATTER, 32, 8);
  launch.inputs = {memory, memory + 32};
  launch.outputs = {memory + 16, memory + 48};
  EXPECT_EQ(check(), "no error");
  launch.outputs[1] = memory + 32;
  EXPECT_EQ(check(), "reduce_scatter 's': input 1 overlaps output 1, but not "
                     "as in place");
  for (commsched_kind kind : {COMMSCHED_ALL_REDUCE, COMMSCHED_BROADCAST}) {
    setKind(kind, 8, 8);
    launch.inputs = {memory, memory + 8};
    launch.outputs = {memory, memory + 8};
    EXPECT_EQ(check(), "no error");
  }
  setKind(COMMSCHED_ALL_TO_ALL, 8, 8);
  EXPECT_EQ(check(),
            "all_to_all 's': input 0 overlaps output 0, but not as in place");
}

TEST_F(LaunchCheckTest, Overlaps) {
  setKind(COMMSCHED_ALL_REDUCE, 8, 8);
  // Reading twice is fine, also where nothing is written.
  launch.inputs = {memory, memory + 4};
  EXPECT_EQ(check(), "no error");
  launch.outputs = {memory + 64, memory + 71};
  EXPECT_EQ(check(), "all_reduce 's': output 0 overlaps output 1");
  launch.outputs = {memory + 64, memory + 8};
  EXPECT_EQ(check(),
            "all_reduce 's': input 1 overlaps output 1, but not as in place");
  launch.outputs = {memory + 64, memory};
  EXPECT_EQ(check(),
            "all_reduce 's': input 0 overlaps output 1, but not as in place");
}
