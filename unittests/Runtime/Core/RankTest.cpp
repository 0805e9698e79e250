//===- RankTest.cpp - Tests of a rank's requests --------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Core/Rank.h"

#include "../StatusText.h"

#include <gtest/gtest.h>

using namespace commsched::runtime;

namespace {
struct RequestsTest : ::testing::Test {
  RequestsTest() : sites(2) {
    sites[0].name = "ag";
    sites[0].kind = COMMSCHED_ALL_GATHER;
    sites[1].name = "rs";
    sites[1].location = "step.mlir:1:2";
    sites[1].kind = COMMSCHED_REDUCE_SCATTER;
    sites[1].index = 1;
  }

  int64_t add(int32_t site) {
    auto request = std::make_unique<Request>();
    request->launch.site = &sites[site];
    return table.add(std::move(request));
  }

  std::string findError(int64_t number) {
    Status status;
    EXPECT_EQ(table.find(number, sites, status), nullptr);
    return toText(status);
  }

  std::vector<Site> sites;
  RequestTable table;
};
} // namespace

TEST_F(RequestsTest, AreFoundUntilRemoved) {
  int64_t first = add(1);
  int64_t second = add(1);
  EXPECT_GT(first, 0);
  EXPECT_NE(first, second);
  Status status;
  Request *request = table.find(second, sites, status);
  ASSERT_NE(request, nullptr);
  EXPECT_EQ(request->launch.site, &sites[1]);
  EXPECT_EQ(table.size(), 2u);
  table.remove(first);
  EXPECT_EQ(findError(first), "the request of reduce_scatter 'rs' "
                              "(step.mlir:1:2) has already been waited for");
  EXPECT_EQ(table.find(second, sites, status), request);
}

TEST_F(RequestsTest, NumbersThatWereNeverGiven) {
  int64_t number = add(0);
  // Another site, a later launch, and no number at all.
  EXPECT_EQ(findError(number + 1),
            "there is no request " + std::to_string(number + 1));
  EXPECT_EQ(findError(number + RequestTable::maxSites),
            "there is no request " +
                std::to_string(number + RequestTable::maxSites));
  EXPECT_EQ(findError(-1), "there is no request -1");
  EXPECT_EQ(findError(7), "there is no request 7");
}

TEST_F(RequestsTest, NumbersOfAnEarlierProgram) {
  int64_t number = add(0);
  table.remove(number);
  table.startProgram();
  EXPECT_EQ(findError(number), "there is no request " + std::to_string(number));
}

TEST_F(RequestsTest, TheOldest) {
  EXPECT_EQ(table.getOldest(), nullptr);
  int64_t first = add(0);
  add(1);
  EXPECT_EQ(table.getOldest()->site, &sites[0]);
  table.remove(first);
  EXPECT_EQ(table.getOldest()->site, &sites[1]);
}
