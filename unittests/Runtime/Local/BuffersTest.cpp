//===- BuffersTest.cpp - Tests of buffers of local ranks ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include <cstring>
#include <gtest/gtest.h>
#include <vector>

using namespace commsched::runtime::testing;

extern "C" {
void *_mlir_memref_to_llvm_alloc(uint64_t size);
void *_mlir_memref_to_llvm_aligned_alloc(uint64_t alignment, uint64_t size);
void _mlir_memref_to_llvm_free(void *pointer);
}

static Ranks makeRanks() {
  Ranks ranks;
  ranks.program = makeProgram(2, "ag = all_gather i32 4 -> 8");
  return ranks;
}

TEST(Buffers, OverwrittenInputs) {
  Errors errors = makeRanks().run([](int32_t rank) {
    int32_t input[4] = {1, 2, 3, 4}, output[8];
    int64_t request = start(0, input, output);
    if (rank == 1)
      input[2] = 9;
    EXPECT_EQ(commsched_wait(request), rank);
  });
  EXPECT_EQ(errors[1],
            "all_gather 'ag' on group 'dp', launch 0: input 0 was overwritten "
            "between start and wait, first at byte 8");
}

TEST(Buffers, OutputsAreSpoiledUntilTheWait) {
  Errors errors = makeRanks().run([](int32_t rank) {
    int32_t buffer[8] = {1, 2, 3, 4, 1, 2, 3, 4};
    int64_t request = start(0, buffer + 4 * rank, buffer);
    // Only this rank's own part is what it was.
    EXPECT_EQ(buffer[4 * rank], 1);
    EXPECT_EQ(buffer[4 * (1 - rank)], -1);
    EXPECT_EQ(buffer[4 * (1 - rank) + 3], -1);
    if (rank == 0)
      buffer[5] = 7;
    EXPECT_EQ(commsched_wait(request), 1 - rank);
  });
  EXPECT_EQ(errors[0],
            "all_gather 'ag' on group 'dp', launch 0: output 0 was overwritten "
            "between start and wait, first at byte 20");
}

TEST(Buffers, ChecksCanBeLeftOut) {
  Ranks ranks = makeRanks();
  ranks.configure = [](commsched_options &options) {
    options.check_buffers = 0;
  };
  EXPECT_EQ(ranks.run([](int32_t) {
    int32_t input[4] = {1, 2, 3, 4}, output[8] = {5};
    int64_t request = start(0, input, output);
    EXPECT_EQ(output[0], 5);
    // The collective sends the contents at its start.
    input[2] = 9;
    EXPECT_EQ(commsched_wait(request), 0);
    EXPECT_EQ(output[2], 3);
    EXPECT_EQ(output[6], 3);
  }),
            Errors(2));
}

TEST(Buffers, CopiesAndCounters) {
  EXPECT_EQ(makeRanks().run([](int32_t) {
    auto *buffer = static_cast<float *>(commsched_allocate(40, 256));
    ASSERT_NE(buffer, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer) % 256, 0u);
    EXPECT_EQ(commsched_allocated_bytes(), 40);
    const float host[4] = {1, 2, 3, 4};
    EXPECT_EQ(commsched_upload(buffer, host, sizeof(host)), 0);
    double converted[4];
    EXPECT_EQ(commsched_copy(converted, COMMSCHED_F64, 0, buffer, COMMSCHED_F32,
                             0, 1, 4),
              0);
    EXPECT_EQ(converted[3], 4);
    EXPECT_EQ(commsched_copy(converted, -1, 8, buffer, -1, 4, 2, 3), 0);
    EXPECT_EQ(commsched_zero(buffer, 8), 0);
    float back[4];
    EXPECT_EQ(commsched_download(back, buffer, sizeof(back)), 0);
    EXPECT_EQ(back[1], 0);
    EXPECT_EQ(back[2], 3);
    EXPECT_EQ(commsched_counter("copies"), 2);
    EXPECT_EQ(commsched_counter("copied_bytes"), 32 + 6);
    EXPECT_EQ(commsched_counter("allocations"), 1);
    EXPECT_EQ(commsched_counter("other"), 0);
    commsched_release(buffer);
    commsched_release(nullptr);
    EXPECT_EQ(commsched_allocated_bytes(), 0);
    EXPECT_EQ(commsched_peak_bytes(), 40);
    commsched_reset_peak();
    EXPECT_EQ(commsched_peak_bytes(), 0);
  }),
            Errors(2));
}

TEST(Buffers, AllocationFunctionsOfMlir) {
  EXPECT_EQ(makeRanks().run([](int32_t) {
    void *a = _mlir_memref_to_llvm_alloc(100);
    void *b = _mlir_memref_to_llvm_aligned_alloc(128, 0);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(b) % 128, 0u);
    std::memset(a, 1, 100);
    EXPECT_EQ(commsched_allocated_bytes(), 100);
    _mlir_memref_to_llvm_free(a);
    _mlir_memref_to_llvm_free(b);
    EXPECT_EQ(commsched_allocated_bytes(), 0);
  }),
            Errors(2));
}

TEST(BuffersDeathTest, NoMemoryEndsInWords) {
  // Code on the processor would write to what it is given.
  EXPECT_EXIT(
      {
        commsched_options options;
        commsched_default_options(&options);
        commsched_init(&options);
        _mlir_memref_to_llvm_alloc(uint64_t(1) << 62);
      },
      ::testing::ExitedWithCode(1),
      "error: cannot allocate 4611686018427387904 bytes");
}

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
