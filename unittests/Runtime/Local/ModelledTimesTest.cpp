//===- ModelledTimesTest.cpp - Tests of modelled step times ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include <gtest/gtest.h>

#include <chrono>
#include <sstream>

using namespace commsched::runtime::testing;
static constexpr int64_t ms = 1000000;

/// Sites 0 and 1 are gathers of 100 and 50 ms on all ranks, 2 one of 30 ms of a
/// rank alone, 3 a barrier of 5 ms.
static Ranks makeRanks(int32_t count, bool isModelled) {
  const std::string tensor = " i32 1 -> " + std::to_string(count);
  Ranks ranks;
  ranks.count = count;
  ranks.program = makeProgram(
      count,
      "a = all_gather" + tensor + " : runtime_ns=100000000; b = all_gather" +
          tensor + " : runtime_ns=50000000;" +
          "c = all_gather i32 1 -> 1 : runtime_ns=30000000 group=1;"
          "d = barrier : runtime_ns=5000000",
      R"({"name": "mm", "outputs": [{"type": "i32", "elements": 16}]})");
  ranks.configure = [=](commsched_options &options) {
    options.modelled_times = isModelled;
  };
  return ranks;
}

/// The records in milliseconds: "collective 0: 0-100".
static std::string listRecords() {
  static const char *const kinds[] = {"collective", "wait", "compute"};
  const commsched_record *records;
  int64_t count = commsched_get_records(&records);
  std::ostringstream stream;
  for (int64_t i = 0; i < count; ++i) {
    const commsched_record &record = records[i];
    EXPECT_EQ(record.begin_ns % ms, 0);
    EXPECT_EQ(record.end_ns % ms, 0);
    stream << kinds[record.kind] << " " << record.index << ": "
           << record.begin_ns / ms << "-" << record.end_ns / ms << "\n";
  }
  return stream.str();
}

/// Real time is never before the modelled one, and a busy machine makes it
/// late.
static void expectStep(int64_t stepNs, int64_t expectedMs) {
  EXPECT_GE(stepNs, expectedMs * ms);
  EXPECT_LE(stepNs, expectedMs * ms + 2000 * ms);
}

static void compute(int64_t milliseconds) {
  EXPECT_EQ(commsched_compute(0, milliseconds * ms, nullptr, nullptr), 0);
}

TEST(ModelledTimes, TheExampleOfTheModel) {
  // docs/guide/model.md, with milliseconds for nanoseconds.
  Errors errors = makeRanks(2, true).run([](int32_t) {
    int32_t value = 0, a[2], b[2];
    EXPECT_EQ(commsched_begin_step(), 0);
    int64_t first = start(0, &value, a);
    int64_t second = start(1, &value, b);
    compute(60);
    EXPECT_EQ(commsched_wait(first), 0);
    compute(30);
    EXPECT_EQ(commsched_wait(second), 0);
    compute(20);
    expectStep(commsched_end_step(), 170);
    EXPECT_EQ(listRecords(), "compute 0: 0-60\n"
                             "collective 0: 0-100\n"
                             "wait 0: 60-100\n"
                             "compute 0: 100-130\n"
                             "collective 1: 100-150\n"
                             "wait 1: 130-150\n"
                             "compute 0: 150-170\n");
  });
  EXPECT_EQ(errors, Errors(2));
}

TEST(ModelledTimes, CollectivesBeginWhenTheLastHasCome) {
  Errors errors = makeRanks(2, true).run([](int32_t rank) {
    int32_t value = 0, gathered[2];
    EXPECT_EQ(commsched_begin_step(), 0);
    if (rank == 1)
      compute(40);
    EXPECT_EQ(commsched_wait(start(1, &value, gathered)), 0);
    // Another stream runs by itself.
    int64_t request = start(2, &value, gathered);
    EXPECT_EQ(commsched_barrier(3), 0);
    EXPECT_EQ(commsched_wait(request), 0);
    expectStep(commsched_end_step(), 120);
    std::string expected = rank == 0 ? "wait 1: 0-90\n"
                                       "collective 1: 40-90\n"
                                     : "compute 0: 0-40\n"
                                       "collective 1: 40-90\n"
                                       "wait 1: 40-90\n";
    EXPECT_EQ(listRecords(), expected + "collective 3: 90-95\n"
                                        "wait 3: 90-95\n"
                                        "collective 2: 90-120\n"
                                        "wait 2: 95-120\n");
  });
  EXPECT_EQ(errors, Errors(2));
}

TEST(ModelledTimes, TheStepEndsWhenStreamsAreIdle) {
  Errors errors = makeRanks(2, true).run([](int32_t) {
    for (int repeat = 0; repeat < 2; ++repeat) {
      int32_t value = 0, gathered[2];
      EXPECT_EQ(commsched_begin_step(), 0);
      int64_t request = start(1, &value, gathered);
      compute(20);
      EXPECT_EQ(commsched_test(request), 0);
      expectStep(commsched_end_step(), 50);
      EXPECT_EQ(commsched_test(request), 1);
      EXPECT_EQ(listRecords(), "compute 0: 0-20\ncollective 1: 0-50\n");
      EXPECT_EQ(commsched_wait(request), 0);
    }
  });
  EXPECT_EQ(errors, Errors(2));
}

TEST(ModelledTimes, WhoComesLastInRealTimeDoesNotMatter) {
  Errors errors = makeRanks(2, true).run([](int32_t rank) {
    int32_t value = 0, gathered[2], all[2];
    EXPECT_EQ(commsched_begin_step(), 0);
    if (rank == 0) {
      EXPECT_EQ(commsched_exchange(&value, all, sizeof(value)), 0);
    } else {
      compute(40);
    }
    int64_t request = start(1, &value, gathered);
    if (rank == 1) {
      EXPECT_EQ(commsched_exchange(&value, all, sizeof(value)), 0);
    }
    EXPECT_EQ(commsched_wait(request), 0);
    expectStep(commsched_end_step(), 90);
  });
  EXPECT_EQ(errors, Errors(2));
}

TEST(ModelledTimes, SynchronizeRecordsOnce) {
  Errors errors = makeRanks(1, true).run([](int32_t) {
    int32_t value = 0, gathered[1];
    EXPECT_EQ(commsched_begin_step(), 0);
    int64_t request = start(2, &value, gathered);
    EXPECT_EQ(commsched_synchronize(), 0);
    EXPECT_EQ(commsched_account(0, 4 * ms), 0);
    EXPECT_EQ(commsched_wait(request), 0);
    expectStep(commsched_end_step(), 34);
    EXPECT_EQ(listRecords(), "collective 2: 0-30\n"
                             "compute 0: 30-34\n"
                             "wait 2: 34-34\n");
  });
  EXPECT_EQ(errors, Errors(1));
}

TEST(ModelledTimes, ARecvBeginsWithItsSend) {
  Ranks ranks = makeRanks(2, true);
  ranks.program = makeProgram(2,
                              "s = send i32 1 : peer=1 runtime_ns=100000000;"
                              "r = recv i32 -> 1 : peer=0 runtime_ns=30000000",
                              R"({"name": "mm"})");
  Errors errors = ranks.run([](int32_t rank) {
    int32_t value = rank;
    EXPECT_EQ(commsched_begin_step(), 0);
    if (rank == 0)
      compute(10);
    EXPECT_EQ(commsched_wait(start(rank, &value, &value)), 0);
    EXPECT_EQ(value, 0);
    expectStep(commsched_end_step(), rank == 0 ? 110 : 40);
    EXPECT_EQ(listRecords(), rank == 0 ? "compute 0: 0-10\n"
                                         "collective 0: 10-110\n"
                                         "wait 0: 10-110\n"
                                       : "wait 1: 0-40\n"
                                         "collective 1: 10-40\n");
  });
  EXPECT_EQ(errors, Errors(2));
}

TEST(ModelledTimes, FailuresWakeSleepers) {
  auto begin = std::chrono::steady_clock::now();
  Errors errors = makeRanks(2, true).run([](int32_t rank) {
    commsched_begin_step();
    if (rank == 0)
      commsched_fail("enough");
    else
      EXPECT_EQ(commsched_compute(0, 60000 * ms, nullptr, nullptr), 1);
  });
  EXPECT_EQ(errors[1], "rank 0 failed: enough");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST(RealTimes, RecordsLieInTheStep) {
  Errors errors = makeRanks(2, false).run([](int32_t rank) {
    int32_t value = 0, gathered[2];
    EXPECT_EQ(commsched_begin_step(), 0);
    int64_t request = start(0, &value, gathered);
    compute(rank == 1 ? 20 : 0);
    EXPECT_EQ(commsched_wait(request), 0);
    EXPECT_EQ(commsched_barrier(3), 0);
    int64_t step = commsched_end_step();
    const commsched_record *records;
    ASSERT_EQ(commsched_get_records(&records), 5);
    int64_t last = 0;
    for (int i = 0; i < 5; ++i) {
      EXPECT_GE(records[i].begin_ns, last);
      EXPECT_GE(records[i].end_ns, records[i].begin_ns);
      EXPECT_LE(records[i].end_ns, step);
      last = records[i].begin_ns;
      if (records[i].kind == COMMSCHED_RECORD_COMPUTE && rank == 1) {
        EXPECT_GE(records[i].end_ns - records[i].begin_ns, 20 * ms);
      }
    }
  });
  EXPECT_EQ(errors, Errors(2));
}

TEST(EmulatedData, IsEqualOnEqualRanks) {
  Ranks ranks = makeRanks(2, false);
  ranks.configure = [](commsched_options &options) {
    options.emulate_data = 1;
  };
  EXPECT_EQ(ranks.run([](int32_t) {
    int32_t result[16] = {};
    void *outputs[] = {result};
    EXPECT_EQ(commsched_compute(0, 0, nullptr, outputs), 0);
    std::vector<int32_t> all(32);
    EXPECT_EQ(commsched_exchange(result, all.data(), sizeof(result)), 0);
    EXPECT_EQ(std::vector<int32_t>(all.begin(), all.begin() + 16),
              std::vector<int32_t>(all.begin() + 16, all.end()));
    EXPECT_NE(std::vector<int32_t>(16),
              std::vector<int32_t>(result, result + 16));
  }),
            Errors(2));
  Errors errors =
      ranks.run([](int32_t) { commsched_compute(0, 0, nullptr, nullptr); });
  EXPECT_NE(errors[0].find("operator 'mm': output 0 is null"),
            std::string::npos);
}
