//===- SplitsTest.cpp - Tests of splits that are values -------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Splits.h"

#include "../StatusText.h"

#include <gtest/gtest.h>

using namespace commsched::runtime;
using Splits = std::vector<int64_t>;

static std::string add(SplitSide side, const Splits &splits, int64_t &rows) {
  return toText(addSplits(side, splits.data(),
                          static_cast<int64_t>(splits.size()), rows));
}

TEST(Splits, AddUp) {
  int64_t rows = 0;
  EXPECT_EQ(add(SplitSide::Input, {3, 0, 5}, rows), "no error");
  EXPECT_EQ(rows, 8);
  EXPECT_EQ(add(SplitSide::Output, {0, 0}, rows), "no error");
  EXPECT_EQ(rows, 0);
  EXPECT_EQ(add(SplitSide::Output, {3, -2, 5}, rows),
            "the output split of rank 1 of the group is -2, which is negative");
  int64_t most = int64_t(1) << 48;
  EXPECT_EQ(add(SplitSide::Input, {most, 0}, rows), "no error");
  EXPECT_EQ(add(SplitSide::Input, {most, 1}, rows),
            "the input splits add up to more than 281474976710656 rows");
  EXPECT_EQ(add(SplitSide::Input, {INT64_MAX, INT64_MAX}, rows),
            "the input splits add up to more than 281474976710656 rows");
}

namespace {
/// An all_to_all of two tensors on two ranks, with rows of 4 and of 0 elements.
struct ResolveTest : ::testing::Test {
  ResolveTest() {
    site.kind = COMMSCHED_ALL_TO_ALL;
    site.inputSplitsAreValues = site.outputSplitsAreValues = true;
    site.tensors.resize(2);
    site.tensors[0].rowElements = 4;
  }

  std::string resolve(const RowSplits &input, const RowSplits &output) {
    return toText(resolveTensors(site, 2, input, output, tensors));
  }

  Splits sent = {3, 5}, received = {0, 2};
  Site site;
  std::vector<Tensor> tensors;
};
} // namespace

TEST_F(ResolveTest, RowsBecomeElements) {
  EXPECT_EQ(resolve({8, sent.data()}, {2, received.data()}), "no error");
  EXPECT_EQ(tensors[0].inputs, 32);
  EXPECT_EQ(tensors[0].inputSplits, (Splits{12, 20}));
  EXPECT_EQ(tensors[0].outputs, 8);
  EXPECT_EQ(tensors[0].outputSplits, (Splits{0, 8}));
  EXPECT_EQ(tensors[1].inputs, 0);
  EXPECT_EQ(tensors[1].inputSplits, (Splits{0, 0}));
}

TEST_F(ResolveTest, ListedSideStays) {
  site.inputSplitsAreValues = false;
  site.tensors[0].inputs = 8;
  site.tensors[0].inputSplits = {4, 4};
  EXPECT_EQ(resolve({}, {2, received.data()}), "no error");
  EXPECT_EQ(tensors[0].inputs, 8);
  EXPECT_EQ(tensors[0].inputSplits, (Splits{4, 4}));
  EXPECT_EQ(tensors[0].outputSplits, (Splits{0, 8}));
}

TEST_F(ResolveTest, Errors) {
  EXPECT_EQ(resolve({7, sent.data()}, {2, received.data()}),
            "the input splits add up to 8 rows, but the input has 7");
  EXPECT_EQ(resolve({8, sent.data()}, {3, received.data()}),
            "the output splits add up to 2 rows, but the output has 3");
  EXPECT_EQ(resolve({8, nullptr}, {2, received.data()}),
            "the input splits are values, but null is given");
  site.tensors[1].rowElements = int64_t(1) << 46;
  EXPECT_EQ(resolve({8, sent.data()}, {2, received.data()}),
            "the input has 8 rows of 70368744177664 elements, more than fit a "
            "buffer");
}
