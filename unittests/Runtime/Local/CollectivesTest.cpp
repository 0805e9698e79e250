//===- CollectivesTest.cpp - Tests of results of collectives --------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cases that a suite over all backends leaves out; see also Conformance.
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace commsched::runtime::testing;
using Errors = std::vector<std::string>;

TEST(Collectives, TensorsTravelTogether) {
  Ranks ranks;
  ranks.program = makeProgram(2, R"({"name": "ag", "kind": "all_gather",
      "tensors": [{"type": "i8", "inputs": 1, "outputs": 2},
                  {"type": "f64", "inputs": 0, "outputs": 0},
                  {"type": "bytes<3>", "inputs": 1, "outputs": 2}]})");
  EXPECT_EQ(ranks.run([](int32_t rank) {
    // The first one in place.
    int8_t small[2] = {-1, -1};
    small[rank] = static_cast<int8_t>(rank + 5);
    std::string large = rank == 0 ? "abc" : "def";
    char gathered[7] = "......";
    const void *inputs[] = {small + rank, nullptr, large.data()};
    void *outputs[] = {small, nullptr, gathered};
    EXPECT_EQ(commsched_wait(commsched_start(0, inputs, outputs)), 0);
    EXPECT_EQ(small[0], 5);
    EXPECT_EQ(small[1], 6);
    EXPECT_STREQ(gathered, "abcdef");
    EXPECT_EQ(commsched_counter("starts"), 1);
    EXPECT_EQ(commsched_counter("staged_bytes"), 4);
    EXPECT_EQ(commsched_counter("copies"), 0);
  }),
            Errors(2));
}

TEST(Collectives, SendsAndReceivesMatchByTagAndInOrder) {
  const std::string tensors = R"("tensors": [{"type": "i32", "inputs": 1}]})";
  const std::string outputs = R"("tensors": [{"type": "i32", "outputs": 1}]})";
  Ranks ranks;
  ranks.count = 3;
  ranks.program = makeProgram(
      3, R"({"name": "s7", "kind": "send", "peer": 1, "tag": 7, )" + tensors +
             R"(, {"name": "s8", "kind": "send", "peer": 1, "tag": 8, )" +
             tensors +
             R"(, {"name": "r7", "kind": "recv", "peer": 0, "tag": 7, )" +
             outputs +
             R"(, {"name": "r8", "kind": "recv", "peer": 0, "tag": 8, )" +
             outputs + R"(, {"name": "b", "kind": "barrier"})");
  EXPECT_EQ(ranks.run([](int32_t rank) {
    int32_t values[3] = {1, 2, 3};
    if (rank == 0) {
      EXPECT_EQ(commsched_wait(start(0, &values[0], nullptr)), 0);
      EXPECT_EQ(commsched_wait(start(1, &values[1], nullptr)), 0);
      EXPECT_EQ(commsched_wait(start(0, &values[2], nullptr)), 0);
    } else if (rank == 1) {
      int32_t received[3];
      EXPECT_EQ(commsched_wait(start(3, nullptr, &received[1])), 0);
      int64_t first = start(2, nullptr, &received[0]);
      int64_t second = start(2, nullptr, &received[2]);
      EXPECT_EQ(commsched_wait(second), 0);
      EXPECT_EQ(commsched_wait(first), 0);
      EXPECT_EQ(std::memcmp(values, received, sizeof(values)), 0);
    }
    // Sends and receives do not count where collectives are counted: the third
    // rank has none.
    EXPECT_EQ(commsched_barrier(4), 0);
  }),
            Errors(3));
}

TEST(Collectives, TestUntilTheOtherHasCome) {
  Ranks ranks;
  ranks.program = makeProgram(2, R"({"name": "ar", "kind": "all_reduce",
      "reduction": "sum",
      "tensors": [{"type": "i32", "inputs": 1, "outputs": 1}]})");
  EXPECT_EQ(ranks.run([](int32_t rank) {
    int32_t token = 0, all[2];
    int32_t value = 1 + rank;
    if (rank == 1) {
      // Comes only when rank 0 has seen that it has not.
      EXPECT_EQ(commsched_exchange(&token, all, sizeof(token)), 0);
      EXPECT_EQ(commsched_wait(start(0, &value, &value)), 0);
      EXPECT_EQ(value, 3);
      return;
    }
    int64_t request = start(0, &value, &value);
    EXPECT_EQ(commsched_test(request), 0);
    EXPECT_EQ(commsched_exchange(&token, all, sizeof(token)), 0);
    int32_t done;
    while ((done = commsched_test(request)) == 0)
      commsched_poll();
    EXPECT_EQ(done, 1);
    EXPECT_EQ(commsched_wait(request), 0);
    EXPECT_EQ(value, 3);
    // A request of 0 is none.
    EXPECT_EQ(commsched_wait(0), 0);
    EXPECT_EQ(commsched_test(0), 1);
  }),
            Errors(2));
}

TEST(Collectives, RowsOfAGroupDoNotMeet) {
  Ranks ranks;
  ranks.count = 4;
  ranks.program = R"({"version": 1,
    "groups": [{"name": "odd", "size": 2, "ranks": [[0, 3], [2, 1]]}],
    "sites": [{"name": "ag", "kind": "all_gather", "group": 0,
               "tensors": [{"type": "i32", "inputs": 1, "outputs": 2}]}]})";
  EXPECT_EQ(ranks.run([](int32_t rank) {
    const int32_t expected[4][2] = {{0, 3}, {2, 1}, {2, 1}, {0, 3}};
    const int64_t places[4] = {0, 1, 0, 1};
    EXPECT_EQ(commsched_group_rank(0), places[rank]);
    EXPECT_EQ(commsched_group_rank(1), -1);
    int32_t gathered[2];
    EXPECT_EQ(commsched_wait(start(0, &rank, gathered)), 0);
    EXPECT_EQ(std::memcmp(gathered, expected[rank], sizeof(gathered)), 0);
  }),
            Errors(4));
}

/// All ranks in three groups: the plain one, and two implementations of it.
static const char *const implementations = R"({"version": 1, "groups": [
    {"name": "dp", "size": 2},
    {"name": "dp", "size": 2,
     "implementation": {"name": "nccl-4", "method": "nccl", "channels": 4}},
    {"name": "dp", "size": 2,
     "implementation": {"name": "ce", "method": "copy-engine"}}],
  "sites": [
    {"name": "a", "kind": "all_gather", "group": 0,
     "tensors": [{"type": "i32", "inputs": 1, "outputs": 2}]},
    {"name": "b", "kind": "all_gather", "group": 1,
     "tensors": [{"type": "i32", "inputs": 1, "outputs": 2}]},
    {"name": "c", "kind": "all_gather", "group": 2,
     "tensors": [{"type": "i32", "inputs": 1, "outputs": 2}]}]})";

TEST(Collectives, ImplementationsAreGroupsOfTheirOwn) {
  Ranks ranks;
  ranks.program = implementations;
  EXPECT_EQ(ranks.run([](int32_t rank) {
    for (int32_t group = 0; group < 3; ++group)
      EXPECT_EQ(commsched_group_rank(group), rank);
    // On one group, ranks that start in different orders would fail.
    int32_t value = 10 + rank, gathered[3][2] = {};
    int64_t requests[3];
    for (int32_t i = 0; i < 3; ++i) {
      int32_t site = rank == 0 ? i : 2 - i;
      requests[site] = start(site, &value, gathered[site]);
    }
    for (int32_t site = 0; site < 3; ++site) {
      EXPECT_EQ(commsched_wait(requests[site]), 0);
      EXPECT_EQ(gathered[site][0], 10);
      EXPECT_EQ(gathered[site][1], 11);
    }
    // A program that is loaded again shares them.
    EXPECT_EQ(commsched_load_program(implementations), 0);
    EXPECT_EQ(commsched_wait(start(1, &value, gathered[1])), 0);
  }),
            std::vector<std::string>(2));
}
