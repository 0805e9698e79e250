//===- BuffersTest.cpp - Tests of buffers and their misuse ----------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace commsched::runtime::testing;
using Errors = std::vector<std::string>;

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
