//===- GroupsTest.cpp - The ranks of groups ---------------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Program.h"

#include <gtest/gtest.h>

using namespace commsched::runtime;

static GroupDescription makeGroup(int64_t size, int64_t stride) {
  GroupDescription group;
  group.name = "dp";
  group.size = size;
  group.stride = stride;
  return group;
}

static std::string expandError(const GroupDescription &group,
                               int64_t numRanks) {
  Rows rows;
  return expandGroup(group, numRanks, rows).value_or("no error");
}

TEST(Groups, RowsOfConsecutiveAndStridedRanks) {
  Rows rows;
  ASSERT_EQ(expandGroup(makeGroup(2, 1), 4, rows), std::nullopt);
  EXPECT_EQ(rows, (Rows{{0, 1}, {2, 3}}));
  ASSERT_EQ(expandGroup(makeGroup(2, 2), 8, rows), std::nullopt);
  EXPECT_EQ(rows, (Rows{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  ASSERT_EQ(expandGroup(makeGroup(1, 1), 2, rows), std::nullopt);
  EXPECT_EQ(rows, (Rows{{0}, {1}}));
}

TEST(Groups, RowsAsListed) {
  GroupDescription group = makeGroup(2, 1);
  group.ranks = {{3, 0}};
  Rows rows;
  ASSERT_EQ(expandGroup(group, 4, rows), std::nullopt);
  EXPECT_EQ(rows, (Rows{{3, 0}}));
  EXPECT_EQ(expandError(group, 3), "group 'dp' names rank 3, but 3 run");
}

TEST(Groups, RanksThatDoNotRun) {
  EXPECT_EQ(expandError(makeGroup(64, 1), 4),
            "group 'dp' has 64 ranks, but 4 run");
  EXPECT_EQ(expandError(makeGroup(3, 1), 4),
            "group 'dp' takes 3 ranks in steps of 1, thus multiples of 3 "
            "ranks, but 4 run");
  EXPECT_EQ(expandError(makeGroup(2, 4), 4),
            "group 'dp' takes 2 ranks in steps of 4, thus multiples of 8 "
            "ranks, but 4 run");
}
