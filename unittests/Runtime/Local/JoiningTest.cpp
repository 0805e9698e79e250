//===- JoiningTest.cpp - Tests of joining and leaving a job ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

using namespace commsched::runtime::testing;
TEST(Joining, OneRankByDefault) {
  Ranks ranks;
  ranks.count = 1;
  ranks.configure = [](commsched_options &options) {
    options.rank = options.num_ranks = -1;
  };
  EXPECT_EQ(ranks.run([](int32_t) {
    EXPECT_EQ(commsched_rank(), 0);
    EXPECT_EQ(commsched_num_ranks(), 1);
    EXPECT_STREQ(commsched_backend_name(), "local");
  }),
            Errors(1));
}

TEST(Joining, CallsOutsideOfARank) {
  std::thread([] {
    EXPECT_STREQ(commsched_last_error(), "");
    EXPECT_STREQ(commsched_backend_name(), "");
    EXPECT_EQ(commsched_rank(), -1);
    EXPECT_EQ(commsched_wait(5), 1);
    EXPECT_EQ(commsched_allocate(8, 0), nullptr);
    EXPECT_EQ(commsched_end_step(), -1);
    EXPECT_EQ(commsched_finalize(), 1);
    EXPECT_STREQ(commsched_last_error(),
                 "commsched_rank outside of commsched_init and "
                 "commsched_finalize");
  }).join();
}

TEST(Joining, OptionsThatMakeNoSense) {
  auto error = [](const std::function<void(commsched_options &)> &configure) {
    Ranks ranks;
    ranks.count = 1;
    ranks.configure = configure;
    return ranks.run([](int32_t) { FAIL(); })[0];
  };
  EXPECT_EQ(error([](commsched_options &o) { o.rank = 1; }),
            "rank 1 of 1 ranks does not exist");
  EXPECT_EQ(error([](commsched_options &o) { o.num_ranks = -1; }),
            "rank 0 of -1 ranks does not exist");
  EXPECT_EQ(error([](commsched_options &o) { o.deadline_ms = 0; }),
            "a deadline of 0 ms is not in [1, 31536000000]");
}

TEST(Joining, RanksThatDisagree) {
  Ranks ranks;
  ranks.configure = [&](commsched_options &options) {
    options.modelled_times = options.rank;
  };
  for (const std::string &error : ranks.run([](int32_t) { FAIL(); }))
    EXPECT_EQ(error, "ranks joined with different options: rank 0 with "
                     "modelled_times=0 emulate_data=0, but rank 1 with "
                     "modelled_times=1 emulate_data=0");
  ranks.configure = [](commsched_options &options) {
    options.rank = 0;
    options.deadline_ms = 200;
  };
  Errors errors = ranks.run([](int32_t) { FAIL(); });
  std::string twice = "has a rank 0 already";
  EXPECT_EQ((errors[0].find(twice) != std::string::npos) +
                (errors[1].find(twice) != std::string::npos),
            1);
}

TEST(Joining, MissingRank) {
  Ranks ranks;
  ranks.configure = [](commsched_options &options) {
    options.deadline_ms = 50;
    if (options.rank == 1)
      options.num_ranks = 3, options.job = "another";
  };
  Errors errors = ranks.run([](int32_t) { FAIL(); });
  EXPECT_EQ(errors[0], "timed out after 50 ms while all ranks meet: rank 1 has "
                       "not joined");
  EXPECT_EQ(errors[1], "timed out after 50 ms while all ranks meet: rank 0 has "
                       "not joined; rank 2 has not joined");
}

TEST(Joining, JobsCanBeRepeated) {
  Ranks ranks;
  ranks.configure = [](commsched_options &options) { options.job = "again"; };
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(ranks.run([](int32_t) {}), Errors(2));
}

/// Joins the job "survivors" of two ranks, as far as that goes.
static int32_t joinSurvivors(int32_t rank) {
  commsched_options options;
  commsched_default_options(&options);
  options.job = "survivors";
  options.rank = rank;
  options.num_ranks = 2;
  return commsched_init(&options);
}

TEST(Joining, AgainWhileOthersHaveYetToLeave) {
  std::atomic<bool> hasFailed{false};
  std::thread other([&] {
    EXPECT_EQ(joinSurvivors(1), 0);
    // Stays in the first job until rank 0 has left it.
    while (!hasFailed)
      std::this_thread::yield();
    EXPECT_EQ(commsched_finalize(), 1);
    EXPECT_STREQ(commsched_last_error(), "rank 0 failed: enough");
    EXPECT_EQ(joinSurvivors(1), 0);
    EXPECT_EQ(commsched_finalize(), 0);
  });
  EXPECT_EQ(joinSurvivors(0), 0);
  commsched_fail("enough");
  EXPECT_EQ(commsched_finalize(), 1);
  hasFailed = true;
  EXPECT_EQ(joinSurvivors(0), 0);
  EXPECT_EQ(commsched_finalize(), 0);
  other.join();
}

TEST(Joining, ProgramsOneAfterTheOther) {
  // The second has another order of groups, and shares them. The third has a
  // group of the same name that is another.
  auto make = [](const std::string &groups, const std::string &site) {
    return R"({"version": 1, "groups": [)" + groups + R"(], "sites": [)" +
           makeSites(site) + "]}";
  };
  const std::string dp = R"({"name": "dp", "size": 2})";
  const std::string gather = "ag = all_gather i32 1 -> 2";
  const std::string first =
      make(dp + R"(, {"name": "solo", "size": 1})", gather);
  const std::string second =
      make(R"({"name": "other", "size": 2}, )" + dp, gather);
  const std::string third =
      make(R"({"name": "dp", "size": 1})", "ag = all_gather i32 1 -> 1");
  EXPECT_EQ(Ranks().run([&](int32_t rank) {
    ASSERT_EQ(commsched_load_program(first.c_str()), 0);
    ASSERT_EQ(commsched_load_program(third.c_str()), 0);
    int32_t alone = -1;
    EXPECT_EQ(commsched_wait(start(0, &rank, &alone)), 0);
    EXPECT_EQ(alone, rank);
    for (const std::string &program : {first, second, first}) {
      ASSERT_EQ(commsched_load_program(program.c_str()), 0);
      int32_t gathered[2] = {-1, -1};
      EXPECT_EQ(commsched_wait(start(0, &rank, gathered)), 0);
      EXPECT_EQ(gathered[0], 0);
      EXPECT_EQ(gathered[1], 1);
    }
  }),
            Errors(2));
}

TEST(Joining, ExchangesOfOtherSizes) {
  Ranks ranks;
  ranks.count = 3;
  Errors errors = ranks.run([](int32_t rank) {
    char all[16];
    commsched_exchange("abcd", all, rank == 2 ? 4 : 3);
  });
  EXPECT_EQ(errors[0], "ranks exchange different numbers of bytes: this one 3, "
                       "rank 2 4");
}
