//===- GpuTest.cpp - Tests that need a GPU --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Without a GPU these tests are skipped, and say why.
//===----------------------------------------------------------------------===//

#include "CommSched/Runtime/Runtime.h"
#include "Numerics/ElementTypes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

using namespace commsched::runtime;

namespace {
class NcclGpuTest : public ::testing::Test {
protected:
  void SetUp() override {
    commsched_options options;
    commsched_default_options(&options);
    options.backend = "nccl";
    options.rank = 0;
    options.num_ranks = 1;
    if (commsched_init(&options) != 0)
      GTEST_SKIP() << commsched_last_error();
    ASSERT_EQ(commsched_load_program(
                  R"({"version": 1, "groups": [{"name": "g", "size": 1}],
                      "sites": [{"name": "ar", "kind": "all_reduce",
                                 "group": 0, "reduction": "sum", "tensors":
                                 [{"type": "f32", "inputs": 1024,
                                   "outputs": 1024}]}],
                      "operators": [{"name": "mm"}]})"),
              0)
        << commsched_last_error();
  }
  void TearDown() override {
    EXPECT_EQ(IsSkipped() ? 0 : commsched_finalize(), 0)
        << commsched_last_error();
  }

  static char *allocate(int64_t bytes) {
    return static_cast<char *>(commsched_allocate(bytes, 0));
  }
};
} // namespace

TEST_F(NcclGpuTest, ComputeLastsItsTime) {
  for (int64_t ns : {20000, 1000000, 20000000}) {
    ASSERT_EQ(commsched_begin_step(), 0) << commsched_last_error();
    ASSERT_EQ(commsched_compute(0, ns, nullptr, nullptr), 0);
    int64_t step = commsched_end_step();
    const commsched_record *records = nullptr;
    ASSERT_EQ(commsched_get_records(&records), 1);
    int64_t measured = records[0].end_ns - records[0].begin_ns;
    // The GPU's timer may tick once in a microsecond; other processes on the
    // GPU can only make it longer.
    EXPECT_GE(measured, ns - 2000);
    EXPECT_LE(measured, 2 * ns + 100000);
    EXPECT_GE(step, measured);
  }
}

TEST_F(NcclGpuTest, RecordsLieInTheStep) {
  float *buffer = reinterpret_cast<float *>(allocate(4096));
  ASSERT_EQ(commsched_begin_step(), 0);
  const void *inputs[] = {buffer};
  void *outputs[] = {buffer};
  int64_t request = commsched_start(0, inputs, outputs);
  ASSERT_EQ(commsched_compute(0, 100000, nullptr, nullptr), 0);
  ASSERT_EQ(commsched_wait(request), 0);
  int64_t step = commsched_end_step();
  const commsched_record *records = nullptr;
  int64_t count = commsched_get_records(&records);
  ASSERT_EQ(count, 3) << commsched_last_error();
  for (int64_t i = 0; i < count; ++i) {
    EXPECT_GE(records[i].begin_ns, 0);
    EXPECT_GE(records[i].end_ns, records[i].begin_ns);
    EXPECT_LE(records[i].end_ns, step);
  }
}

TEST_F(NcclGpuTest, ConversionsAreThoseOfTheProcessor) {
  std::vector<double> numbers = {
      0.0,  -0.0,    1.0,   -2.5,   65504.0,    65520.0,      3.4e38, 3.5e38,
      1e-8, 5.96e-8, 1e-45, 1e-310, 1.00390625, 1.0009765625, 0.1,    -1.0 / 3};
  numbers.push_back(std::numeric_limits<double>::infinity());
  numbers.push_back(-std::numeric_limits<double>::infinity());
  // Halfway between two numbers, and just above: rounding twice is seen.
  for (int bits : {8, 11, 24})
    for (double more : {0.0, 0x1p-52, -0x1p-52})
      numbers.push_back((1.0 + std::ldexp(1.0, -bits)) * (1.0 + more));
  const auto count = static_cast<int64_t>(numbers.size());
  const commsched_type types[] = {COMMSCHED_F16, COMMSCHED_BF16, COMMSCHED_F32,
                                  COMMSCHED_F64};
  // Elements of buckets need not be aligned.
  for (int64_t offset : {0, 1})
    for (commsched_type source : types)
      for (commsched_type target : types) {
        std::vector<char> from(8 * count), expected(8 * count),
            got(8 * count + offset);
        convertElements(from.data(), source, numbers.data(), COMMSCHED_F64,
                        count);
        convertElements(expected.data(), target, from.data(), source, count);
        char *in = allocate(8 * count + offset),
             *out = allocate(8 * count + offset);
        int64_t bytes = count * getByteSize(target);
        ASSERT_EQ(commsched_upload(in + offset, from.data(), 8 * count), 0);
        ASSERT_EQ(commsched_copy(out + offset, target, 0, in + offset, source,
                                 0, 1, count),
                  0)
            << commsched_last_error();
        ASSERT_EQ(commsched_download(got.data(), out + offset, bytes), 0);
        EXPECT_EQ(std::memcmp(got.data(), expected.data(), bytes), 0)
            << getName(source) << " to " << getName(target) << ", offset "
            << offset;
        commsched_release(in);
        commsched_release(out);
      }
}

TEST_F(NcclGpuTest, RowsAreCopiedWithTheirStrides) {
  std::vector<int32_t> from(64), got(64);
  for (int i = 0; i < 64; ++i)
    from[i] = i;
  char *in = allocate(256), *out = allocate(256);
  ASSERT_EQ(commsched_upload(in, from.data(), 256), 0);
  ASSERT_EQ(commsched_zero(out, 256), 0);
  // 8 rows of 3 elements, of every 4 into every 8.
  ASSERT_EQ(commsched_copy(out, COMMSCHED_I32, 32, in, COMMSCHED_I32, 16, 8, 3),
            0);
  ASSERT_EQ(commsched_download(got.data(), out, 256), 0);
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(got[i], i % 8 < 3 ? i / 8 * 4 + i % 8 : 0) << i;
}
