//===- TransfersTest.cpp - Tests of offloads and reloads ------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include <gtest/gtest.h>

#include <vector>

using namespace commsched::runtime::testing;
using Errors = std::vector<std::string>;

static constexpr int64_t msInNs = 1000000;

/// Sites 0 and 1 go to the host in 10 ms, 2 comes back in 5 ms.
static Ranks makeTransferRanks() {
  Ranks ranks;
  ranks.count = 1;
  ranks.program = makeProgram(1, R"(
    a = offload i32 4 -> 4 : runtime_ns=10000000
    b = offload i32 4 -> 4 : runtime_ns=10000000
    c = reload i32 4 -> 4 : runtime_ns=5000000)",
                              R"({"name": "mm"})");
  return ranks;
}

TEST(Transfers, OverwrittenInputs) {
  Errors errors = makeTransferRanks().run([](int32_t) {
    int32_t input[4] = {1, 2, 3, 4}, output[4];
    int64_t request = start(0, input, output);
    input[2] = 9;
    EXPECT_EQ(commsched_wait(request), 1);
  });
  EXPECT_EQ(errors[0],
            "offload 'a' on stream 'd2h', launch 0: input 0 was overwritten "
            "between start and wait, first at byte 8");
}

TEST(Transfers, OutputsAreSpoiledUntilTheWait) {
  Errors errors = makeTransferRanks().run([](int32_t) {
    int32_t input[4] = {1, 2, 3, 4}, output[4] = {};
    int64_t request = start(2, input, output);
    while (commsched_test(request) == 0)
      continue;
    EXPECT_EQ(output[0], -1);
    EXPECT_EQ(output[3], -1);
    output[3] = 4;
    EXPECT_EQ(commsched_wait(request), 1);
  });
  EXPECT_EQ(errors[0],
            "reload 'c' on stream 'h2d', launch 0: output 0 was overwritten "
            "between start and wait, first at byte 12");
}

TEST(Transfers, AThreadCopiesWithoutAWait) {
  Ranks ranks = makeTransferRanks();
  ranks.configure = [](commsched_options &options) {
    options.check_buffers = 0;
  };
  EXPECT_EQ(ranks.run([](int32_t) {
    int32_t input[4] = {1, 2, 3, 4}, host[4] = {}, output[4] = {};
    int64_t first = start(0, input, host);
    while (commsched_test(first) == 0)
      continue;
    EXPECT_EQ(host[3], 4);
    int64_t second = start(2, host, output);
    while (commsched_test(second) == 0)
      continue;
    EXPECT_EQ(output[3], 4);
    commsched_wait(second);
    commsched_wait(first);
    EXPECT_EQ(commsched_counter("staged_bytes"), 0);
  }),
            Errors(1));
}

TEST(Transfers, DirectionsAreStreamsOfModelledTime) {
  Ranks ranks = makeTransferRanks();
  ranks.configure = [](commsched_options &options) {
    options.modelled_times = 1;
  };
  std::vector<std::pair<int64_t, int64_t>> times(3);
  int64_t waitedNs = -1;
  EXPECT_EQ(ranks.run([&](int32_t) {
    int32_t input[4] = {1, 2, 3, 4}, hosts[3][4] = {}, output[4];
    ASSERT_EQ(commsched_begin_step(), 0);
    int64_t first = start(0, input, hosts[0]);
    int64_t second = start(1, input, hosts[1]);
    commsched_compute(0, 4 * msInNs, nullptr, nullptr);
    int64_t third = start(2, hosts[2], output);
    commsched_compute(0, 12 * msInNs, nullptr, nullptr);
    EXPECT_EQ(commsched_test(first), 1);
    for (int64_t request : {first, third, second})
      commsched_wait(request);
    EXPECT_GE(commsched_end_step(), 20 * msInNs);
    const commsched_record *records;
    int64_t count = commsched_get_records(&records);
    for (int64_t i = 0; i < count; ++i) {
      auto [kind, index, beginNs, endNs] = records[i];
      if (kind == COMMSCHED_RECORD_COLLECTIVE)
        times[index] = {beginNs / msInNs, endNs / msInNs};
      if (kind == COMMSCHED_RECORD_WAIT && index == 1)
        waitedNs = endNs - beginNs;
    }
  }),
            Errors(1));
  EXPECT_EQ(times[0], std::make_pair(int64_t(0), int64_t(10)));
  EXPECT_EQ(times[1], std::make_pair(int64_t(10), int64_t(20)));
  EXPECT_EQ(times[2], std::make_pair(int64_t(4), int64_t(9)));
  EXPECT_EQ(waitedNs, 4 * msInNs);
}

TEST(Transfers, MemoryOfTheHostIsCountedApart) {
  EXPECT_EQ(makeTransferRanks().run([](int32_t) {
    void *host = commsched_allocate_host(1000, 0);
    EXPECT_EQ(commsched_host_bytes(), 1000);
    EXPECT_EQ(commsched_allocated_bytes(), 0);
    commsched_release(host);
    EXPECT_EQ(commsched_host_bytes(), 0);
    EXPECT_EQ(commsched_host_peak_bytes(), 1000);
    EXPECT_EQ(commsched_peak_bytes(), 0);
    commsched_reset_peak();
    EXPECT_EQ(commsched_host_peak_bytes(), 0);
  }),
            Errors(1));
}
