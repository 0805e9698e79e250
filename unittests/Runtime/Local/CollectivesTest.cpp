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

using namespace commsched::runtime::testing;
using Errors = std::vector<std::string>;

TEST(Collectives, TensorsTravelTogether) {
  Ranks ranks;
  ranks.program =
      makeProgram(2, "ag = all_gather i8 1 -> 2, f64 0 -> 0, bytes<3> 1 -> 2");
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

TEST(Collectives, TestUntilTheOtherHasCome) {
  Ranks ranks;
  ranks.program = makeProgram(2, "ar = all_reduce i32 1 -> 1 : reduction=sum");
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
