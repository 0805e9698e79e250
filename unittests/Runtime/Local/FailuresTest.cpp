//===- FailuresTest.cpp - Tests of failing ranks --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include <gtest/gtest.h>

using namespace commsched::runtime::testing;
/// Two collectives and a barrier on all ranks, and one on a group of one.
static std::string makeGathers(int32_t size) {
  const std::string tensor = " i32 1 -> " + std::to_string(size);
  return makeProgram(size, "a = all_gather" + tensor +
                               " : location=step.mlir:7:8; b = all_gather" +
                               tensor + "; bar = barrier");
}

static Ranks makeRanks(int32_t count, int64_t deadlineMs) {
  Ranks ranks;
  ranks.count = count;
  ranks.program = makeGathers(count);
  ranks.configure = [=](commsched_options &options) {
    options.deadline_ms = deadlineMs;
  };
  return ranks;
}

/// Starts and waits for the gather `site`.
static int32_t gather(int32_t site) {
  int32_t value = 0, gathered[4];
  return commsched_wait(start(site, &value, gathered));
}

TEST(Failures, StickAndStopEverything) {
  Ranks ranks = makeRanks(1, 1000);
  Errors errors = ranks.run([](int32_t) {
    void *buffer = commsched_allocate(64, 0);
    EXPECT_EQ(start(7, buffer, buffer), 0);
    EXPECT_STREQ(commsched_last_error(),
                 "site 7 does not exist: the program has 3");
    commsched_fail("something else");
    EXPECT_EQ(gather(0), 1);
    EXPECT_EQ(commsched_barrier(2), 1);
    EXPECT_EQ(commsched_test(0), -1);
    EXPECT_EQ(commsched_begin_step(), 1);
    EXPECT_EQ(commsched_zero(buffer, 64), 1);
    EXPECT_EQ(commsched_counter("starts"), 0);
    // A program that runs to its end still has memory and knows its rank.
    EXPECT_NE(commsched_allocate(64, 0), nullptr);
    commsched_release(buffer);
    EXPECT_EQ(commsched_group_rank(0), 0);
  });
  EXPECT_EQ(errors[0], "site 7 does not exist: the program has 3");
}

// More of these are scenarios of all backends, see Faults.
TEST(Failures, WrongCalls) {
  auto error = [](const std::function<void()> &body) {
    Ranks ranks = makeRanks(1, 1000);
    return ranks.run([&](int32_t) { body(); })[0];
  };
  EXPECT_EQ(error([] { start(-1, nullptr, nullptr); }),
            "site -1 does not exist: the program has 3");
  EXPECT_EQ(error([] {
              static int32_t value = 0, gathered[1];
              start(0, &value, gathered);
              commsched_begin_step();
            }),
            "commsched_begin_step before the wait for all_gather 'a' "
            "(step.mlir:7:8) on group 'dp', launch 0");
  EXPECT_EQ(error([] { commsched_end_step(); }),
            "commsched_end_step without commsched_begin_step");
  EXPECT_EQ(error([] { commsched_compute(0, 1, nullptr, nullptr); }),
            "operator 0 does not exist: the program has 0");
  EXPECT_EQ(error([] {
              int x = 0;
              commsched_release(&x);
            }),
            "released a buffer that is not allocated");
  EXPECT_EQ(error([] {
              char x[8] = {};
              commsched_copy(x, 99, 0, x, 1, 0, 1, 1);
            }),
            "cannot copy: 99 is no type");
  EXPECT_EQ(error([] {
              char x[8] = {};
              commsched_copy(x, 1, 0, x, 1, 0, -1, 1);
            }),
            "cannot copy -1 rows of 1 elements");
  EXPECT_EQ(error([] { commsched_zero(nullptr, 4); }),
            "cannot set 4 bytes of null to zero");
  static char bytes[4];
  EXPECT_EQ(error([] { commsched_upload(bytes, bytes, -1); }),
            "cannot upload -1 bytes");
  EXPECT_EQ(error([] { commsched_upload(nullptr, bytes, 4); }),
            "cannot upload 4 bytes: a pointer is null");
  EXPECT_EQ(error([] { commsched_download(nullptr, bytes, 4); }),
            "cannot download 4 bytes: a pointer is null");
}

TEST(Failures, NoRowOfTheGroup) {
  Ranks ranks;
  ranks.program = R"({"version": 1,
    "groups": [{"name": "part", "size": 1, "ranks": [[0]],
                "implementation": {"name": "ce", "method": "copy-engine"}}],
    "sites": [)" +
                  makeSites("ag = all_gather i32 1 -> 1 : "
                            "location=step.mlir:7:8") +
                  "]}";
  Errors errors = ranks.run([](int32_t rank) {
    EXPECT_EQ(commsched_group_rank(0), rank == 0 ? 0 : -1);
    int32_t value = 0, gathered = 0;
    start(0, &value, &gathered);
  });
  EXPECT_EQ(errors[1],
            "all_gather 'ag' (step.mlir:7:8): rank 1 is in no row of "
            "group 'part' (ce)");
  EXPECT_NE(errors[0].find("all_gather 'ag' (step.mlir:7:8) on group 'part' "
                           "(ce), launch 0"),
            std::string::npos)
      << errors[0];
}

TEST(Failures, ARankThatHasFinished) {
  // At once, although the deadline is far.
  Errors errors = makeRanks(2, 20000).run([](int32_t rank) {
    gather(0);
    if (rank == 0) {
      EXPECT_EQ(gather(1), 1);
    }
  });
  EXPECT_EQ(errors[0],
            "in the wait for all_gather 'b' on group 'dp', launch 1: rank 1 "
            "has not started it, but waits for all ranks to meet (its last: "
            "launch 0 on group 'dp', all_gather 'a')");
  EXPECT_EQ(errors[1], "rank 0 failed: " + errors[0]);
}

TEST(Failures, SendsThatDoNotFit) {
  Ranks ranks;
  ranks.program =
      makeProgram(2, "s = send i32 2 : peer=1; r = recv i32 -> 3 : peer=0");
  Errors errors = ranks.run([](int32_t rank) {
    int32_t values[3] = {};
    commsched_wait(start(rank, values, values));
  });
  for (const std::string &error : errors)
    EXPECT_NE(error.find("send 's' of rank 0 sends 8 bytes, but recv 'r' of "
                         "rank 1 expects 12 bytes"),
              std::string::npos)
        << error;
}

TEST(Failures, ARecvThatNobodyServes) {
  Ranks ranks;
  ranks.program = makeProgram(2, "r = recv i32 -> 3 : peer=0");
  ranks.configure = [](commsched_options &options) {
    options.deadline_ms = 20000;
  };
  Errors errors = ranks.run([](int32_t rank) {
    int32_t values[3];
    if (rank == 1)
      commsched_wait(start(0, nullptr, values));
  });
  EXPECT_EQ(errors[1],
            "in the wait for recv 'r' on group 'dp', launch 0: rank 0 has not "
            "started it, but waits for all ranks to meet");
}

/// Runs an exchange of rows of two elements with splits that are values: rank
/// r's are `sent[r]` and `received[r]`. The errors of the ranks.
static Errors exchangeRows(const std::vector<int64_t> (&sent)[2],
                           const std::vector<int64_t> (&received)[2],
                           int64_t rows) {
  Ranks ranks;
  ranks.program = makeProgram(2, "x = all_to_all i32 row=2 : "
                                 "input_splits=values output_splits=values");
  return ranks.run([&](int32_t rank) {
    int32_t input[16] = {}, output[16];
    const void *inputs[] = {input};
    void *outputs[] = {output};
    int64_t splits[2] = {7, 7};
    int64_t sum = commsched_read_splits(0, /*output=*/1, received[rank].data(),
                                        splits, 2);
    EXPECT_EQ(sum, splits[0] + splits[1]);
    // After an error the program still gets what it can work with.
    if (*commsched_last_error()) {
      EXPECT_EQ(splits[0], received[rank][0]);
      EXPECT_EQ(splits[1], 0);
    }
    commsched_wait(commsched_start_uneven(0, inputs, outputs, rows,
                                          sent[rank].data(), sum, splits));
  });
}

TEST(Failures, SplitsThatAreValues) {
  EXPECT_EQ(exchangeRows({{1, 3}, {2, 2}}, {{1, 2}, {3, 2}}, 4),
            (Errors{"", ""}));
  Errors errors = exchangeRows({{1, 3}, {2, 2}}, {{1, 3}, {3, 2}}, 4);
  EXPECT_EQ(errors[0], "all_to_all 'x' on group 'dp', launch 0: rank 1 sends 2 "
                       "rows to rank 0, which expects 3");
}

TEST(Failures, SplitsAreGivenWhereTheyAreValues) {
  Ranks ranks;
  ranks.count = 1;
  ranks.program = makeProgram(1, R"(
      x = all_to_all i32 row=2 : input_splits=values
      y = all_to_all i32)");
  int32_t memory[4];
  Errors errors =
      ranks.run([&](int32_t) { commsched_wait(start(0, memory, memory + 2)); });
  EXPECT_EQ(errors[0],
            "all_to_all 'x' is started by commsched_start_uneven only");
  errors = ranks.run([&](int32_t) {
    const void *inputs[] = {memory};
    void *outputs[] = {memory + 2};
    int64_t splits[] = {0};
    commsched_start_uneven(1, inputs, outputs, 0, splits, 0, splits);
  });
  EXPECT_EQ(errors[0], "all_to_all 'y' has no splits that are values");
}
