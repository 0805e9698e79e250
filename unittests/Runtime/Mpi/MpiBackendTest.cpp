//===- MpiBackendTest.cpp - Unit tests of the MPI backend -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tests run on all processes that mpirun has started, in the same order.
//===----------------------------------------------------------------------===//

#include "../SiteText.h"
#include "CommSched/Runtime/Runtime.h"

using commsched::runtime::testing::makeSites;

namespace {

struct MpiTest : ::testing::Test {
  MpiTest() {
    commsched_options options;
    commsched_default_options(&options);
    options.backend = "mpi";
    EXPECT_EQ(commsched_init(&options), 0) << commsched_last_error();
    rank = commsched_rank();
    numRanks = commsched_num_ranks();
  }

  static int32_t load(const std::string &sites) {
    std::string program =
        R"({"version": 1, "groups": [{"name": "all", "size": )" +
        std::to_string(commsched_num_ranks()) + R"(}], "sites": [)" +
        makeSites(sites) + R"(], "operators": [{"name": "mm"}]})";
    return commsched_load_program(program.c_str());
  }

  static void run(int32_t site, const void *input, void *output) {
    EXPECT_EQ(commsched_wait(commsched_start(site, &input, &output)), 0)
        << commsched_last_error();
  }

  int32_t rank, numRanks;
};

TEST_F(MpiTest, TagsHaveLimits) {
  EXPECT_EQ(load("s = send f32 1 : peer=0 tag=17"), 0);
  EXPECT_EQ(load("s = send f32 1 : peer=0 tag=2147483647"), 1);
  EXPECT_EQ(std::string(commsched_last_error())
                .rfind("send 's': 'mpi' has tags from 0 to ", 0),
            0u);
  commsched_finalize();
}

TEST_F(MpiTest, AveragesDivideOnce) {
  ASSERT_EQ(load("a = all_reduce f32 1 -> 1 : reduction=avg"), 0);
  // The sum is exact, the quotient is not.
  float value = static_cast<float>(rank % 3), sum = 0;
  for (int32_t other = 0; other != numRanks; ++other)
    sum += static_cast<float>(other % 3);
  run(0, &value, &value);
  EXPECT_EQ(value, sum / static_cast<float>(numRanks));
  EXPECT_EQ(commsched_finalize(), 0);
}

TEST_F(MpiTest, InPlaceMovesNothingTwice) {
  constexpr int64_t count = 1000;
  std::string all = std::to_string(count * numRanks);
  ASSERT_EQ(load("g = all_gather i32 1000 -> " + all +
                 "; r = all_reduce i32 1000 -> 1000 : reduction=max" +
                 "; s = reduce_scatter i32 " + all +
                 " -> 1000 : reduction=sum"),
            0);
  std::vector<int32_t> data(count * numRanks, rank + 1);
  run(0, data.data() + rank * count, data.data());
  run(1, data.data(), data.data());
  EXPECT_EQ(commsched_counter("staged_bytes"), 0);
  EXPECT_EQ(data[0], 1);
  EXPECT_EQ(data.back(), numRanks);
  // MPI's in-place form delivers elsewhere: one part is copied.
  run(2, data.data(), data.data() + rank * count);
  EXPECT_EQ(data[rank * count], (rank + 1) * numRanks);
  EXPECT_EQ(commsched_counter("staged_bytes"), numRanks == 1 ? 0 : count * 4);
  EXPECT_EQ(commsched_finalize(), 0);
}

TEST_F(MpiTest, PollsWhileItComputes) {
  constexpr int64_t count = 2 << 20;
  // Some milliseconds would do on an idle machine.
  constexpr int64_t computeNs = 400'000'000;
  std::string tensor =
      " f32 " + std::to_string(count) + " -> " + std::to_string(count);
  ASSERT_EQ(load("a = all_reduce" + tensor + " : reduction=sum"), 0);
  std::vector<float> data(count, 1);
  const void *input = data.data();
  void *output = data.data();

  ASSERT_EQ(commsched_begin_step(), 0);
  int64_t request = commsched_start(0, &input, &output);
  ASSERT_EQ(commsched_compute(0, computeNs, nullptr, nullptr), 0);
  ASSERT_EQ(commsched_wait(request), 0);
  int64_t stepNs = commsched_end_step();

  // By their beginnings.
  const commsched_record *records = nullptr;
  ASSERT_EQ(commsched_get_records(&records), 3);
  auto [collective, compute, wait] =
      std::tie(records[0], records[1], records[2]);
  EXPECT_EQ(collective.kind, COMMSCHED_RECORD_COLLECTIVE);
  EXPECT_EQ(compute.kind, COMMSCHED_RECORD_COMPUTE);
  EXPECT_EQ(wait.kind, COMMSCHED_RECORD_WAIT);
  EXPECT_LT(collective.end_ns, compute.end_ns);
  EXPECT_GE(compute.end_ns - compute.begin_ns, computeNs);
  EXPECT_GE(stepNs, wait.end_ns);
  EXPECT_EQ(data[count - 1], static_cast<float>(numRanks));
  EXPECT_EQ(commsched_finalize(), 0);
}

} // namespace
