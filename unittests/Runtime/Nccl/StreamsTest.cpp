//===- StreamsTest.cpp - Tests of streams, events and times ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TestRanks.h"

#include <map>

using namespace commsched::test;

namespace {
class NcclStreamsTest : public NcclTest {
protected:
  /// Reads "e3" as the number of events before it, so that expectations do not
  /// depend on which events were free.
  static Lines renameEvents(const Lines &lines) {
    std::map<std::string, std::string> names;
    Lines result;
    for (std::string line : lines) {
      size_t at = line.find("(e");
      if (at == std::string::npos)
        at = line.find(" e");
      if (at != std::string::npos) {
        size_t end = line.find_first_of(",)", at + 2);
        std::string name = line.substr(at + 1, end - at - 1);
        auto [found, isNew] =
            names.emplace(name, "event" + std::to_string(names.size()));
        line.replace(at + 1, end - at - 1, found->second);
      }
      result.push_back(line);
    }
    return result;
  }

  const std::string allReduce =
      "ar = all_reduce f32 4 -> 4 : location=a.mlir:3:4 reduction=sum";
  const std::string operators =
      R"(, "operators": [{"name": "mm"}, {"name": "relu",
          "inputs": [{"type": "f32", "elements": 4}],
          "outputs": [{"type": "f32", "elements": 4}]}])";
};
} // namespace

TEST_F(NcclStreamsTest, StartsAndWaitsOnlyJoinStreams) {
  runRank([&](TestRank &rank) {
    ASSERT_TRUE(rank.load(allReduce, operators)) << rank.getError();
    char *buffer = rank.allocate(16);
    rank.run(0, {buffer}, {buffer});
    ASSERT_EQ(commsched_synchronize(), 0);

    standin::getSettings().hold = true;
    standin::takeLog();
    int64_t request = rank.start(0, {buffer}, {buffer});
    int64_t queries = standin::countQueries();
    EXPECT_EQ(commsched_compute(0, 500, nullptr, nullptr), 0);
    EXPECT_EQ(commsched_test(request), 0);
    EXPECT_EQ(standin::countQueries(), queries + 1);
    EXPECT_EQ(commsched_wait(request), 0);
    EXPECT_EQ(standin::countQueries(), queries + 1);
    EXPECT_EQ(
        renameEvents(keep(standin::takeLog(),
                          {"cudaEventRecord", "cudaStream", "nccl", "spin"})),
        Lines({"cudaEventRecord(event0, s0)", "cudaStreamWaitEvent(s1, event0)",
               "cudaEventRecord(event1, s1)",
               "ncclAllReduce(m1, m1, 4, f32, sum, c1, s1)",
               "cudaEventRecord(event2, s1)", "spinKernel<<<1, 1, s0>>>",
               "cudaStreamWaitEvent(s0, event2)"}));
    standin::getSettings().hold = false;
  });
}

TEST_F(NcclStreamsTest, TheHostWaitsForNoConnection) {
  // Until ranks have met, NCCL works in the background: the end is recorded
  // when it is done.
  runRank([&](TestRank &rank) {
    ASSERT_TRUE(rank.load(allReduce)) << rank.getError();
    char *buffer = rank.allocate(16);
    standin::takeLog();
    int64_t request = rank.start(0, {buffer}, {buffer});
    EXPECT_EQ(
        renameEvents(keep(standin::takeLog(),
                          {"cudaEventRecord", "cudaStream", "nccl"})),
        Lines({"cudaEventRecord(event0, s0)", "cudaStreamWaitEvent(s1, event0)",
               "cudaEventRecord(event1, s1)",
               "ncclAllReduce(m1, m1, 4, f32, sum, c1, s1)"}));
    EXPECT_EQ(commsched_wait(request), 0);
    EXPECT_EQ(renameEvents(
                  keep(standin::takeLog(), {"cudaEventRecord", "cudaStream"})),
              Lines({"cudaEventRecord(event0, s1)",
                     "cudaStreamWaitEvent(s0, event0)"}));
  });
}

TEST_F(NcclStreamsTest, GroupsHaveStreamsInOneOrder) {
  auto results = runRanks(4, [&](TestRank &rank) {
    standin::takeLog();
    commsched_load_program(
        R"({"version": 1, "groups": [
             {"name": "rows", "size": 2, "stride": 1},
             {"name": "columns", "size": 2, "stride": 2},
             {"name": "pair", "size": 2, "ranks": [[3, 1]]}],
            "sites": []})");
    return join(
        keep(standin::takeLog(), {"ncclCommSplit", "cudaStreamCreate"}));
  });
  auto expect = [](const char *rows, const char *columns, const char *pair,
                   bool inPair) {
    std::string stream = "cudaStreamCreateWithFlags()\n";
    auto split = [](const char *text) {
      return std::string("ncclCommSplit(c0, ") + text + ")\n";
    };
    return split(rows) + stream + split(columns) + stream + split(pair) +
           (inPair ? stream : "");
  };
  EXPECT_EQ(results[0], expect("0, 0", "0, 0", "none, 0", false));
  EXPECT_EQ(results[1], expect("0, 1", "1, 0", "3, 1", true));
  EXPECT_EQ(results[2], expect("2, 0", "0, 1", "none, 0", false));
  EXPECT_EQ(results[3], expect("2, 1", "1, 1", "3, 0", true));
}

TEST_F(NcclStreamsTest, StepsAreTimedByEvents) {
  // A collective takes 1000 ns of the stand-in's time.
  runRank([&](TestRank &rank) {
    ASSERT_TRUE(rank.load(allReduce, operators)) << rank.getError();
    char *buffer = rank.allocate(16);
    ASSERT_EQ(commsched_begin_step(), 0) << rank.getError();
    commsched_compute(0, 300, nullptr, nullptr);
    int64_t request = rank.start(0, {buffer}, {buffer});
    commsched_compute(0, 400, nullptr, nullptr);
    commsched_wait(request);
    commsched_compute(0, 50, nullptr, nullptr);
    EXPECT_EQ(commsched_end_step(), 1350);
    const commsched_record *records = nullptr;
    ASSERT_EQ(commsched_get_records(&records), 5);
    auto expect = [&](int i, int kind, int64_t begin, int64_t end) {
      EXPECT_EQ(records[i].kind, kind) << i;
      EXPECT_EQ(records[i].index, 0) << i;
      EXPECT_EQ(records[i].begin_ns, begin) << i;
      EXPECT_EQ(records[i].end_ns, end) << i;
    };
    expect(0, COMMSCHED_RECORD_COMPUTE, 0, 300);
    bool computeFirst = records[1].kind == COMMSCHED_RECORD_COMPUTE;
    expect(computeFirst ? 2 : 1, COMMSCHED_RECORD_COLLECTIVE, 300, 1300);
    expect(computeFirst ? 1 : 2, COMMSCHED_RECORD_COMPUTE, 300, 700);
    expect(3, COMMSCHED_RECORD_WAIT, 700, 1300);
    expect(4, COMMSCHED_RECORD_COMPUTE, 1300, 1350);
  });
}

TEST_F(NcclStreamsTest, AStepLastsUntilAllStreamsAreIdle) {
  runRank([&](TestRank &rank) {
    ASSERT_TRUE(rank.load(allReduce, operators)) << rank.getError();
    char *buffer = rank.allocate(16);
    ASSERT_EQ(commsched_begin_step(), 0);
    int64_t request = rank.start(0, {buffer}, {buffer});
    commsched_compute(0, 400, nullptr, nullptr);
    EXPECT_EQ(commsched_end_step(), 1000);
    commsched_wait(request);
  });
}

TEST_F(NcclStreamsTest, StepsBeginTogether) {
  auto results = runRanks(2, [&](TestRank &rank) {
    rank.load(allReduce);
    standin::takeLog();
    commsched_begin_step();
    std::string text = join(keep(standin::takeLog(), {"nccl"}));
    commsched_end_step();
    return text;
  });
  for (const std::string &result : results)
    EXPECT_EQ(result, "ncclAllReduce(m0, m0, 1, u8, max, c0, s0)\n");
}

TEST_F(NcclStreamsTest, CopiesAreAsFewCallsAsCanBe) {
  runRank([&](TestRank &rank) {
    char *a = rank.allocate(4096), *b = rank.allocate(4096);
    auto copy = [&](int32_t target, int64_t targetStride, int32_t source,
                    int64_t sourceStride, int64_t rows, int64_t elements) {
      standin::takeLog();
      EXPECT_EQ(commsched_copy(a, target, targetStride, b, source, sourceStride,
                               rows, elements),
                0)
          << rank.getError();
      return standin::takeLog();
    };
    EXPECT_EQ(copy(-1, 16, -1, 16, 4, 16),
              Lines({"cudaMemcpyAsync(m1, m2, 64, s0)"}));
    EXPECT_EQ(copy(COMMSCHED_F32, 32, COMMSCHED_F32, 16, 4, 4),
              Lines({"cudaMemcpy2DAsync(m1, 32, m2, 16, 16, 4, s0)"}));
    EXPECT_EQ(copy(-1, 16, -1, 0, 2, 16),
              Lines({"cudaMemcpyAsync(m1, m2, 16, s0)",
                     "cudaMemcpyAsync(m1+16, m2, 16, s0)"}));
    EXPECT_EQ(copy(COMMSCHED_F32, 16, COMMSCHED_BF16, 8, 100, 4),
              Lines({"convertKernel<float, __nv_bfloat16><<<2, 256, s0>>>"}));
    EXPECT_EQ(copy(-1, 16, -1, 16, 0, 16), Lines());
  });
}

TEST_F(NcclStreamsTest, OtherConversionsAreRefused) {
  TestRank rank(0, 1, 20000);
  char *a = rank.allocate(16), *b = rank.allocate(16);
  EXPECT_NE(commsched_copy(a, COMMSCHED_I32, 16, b, COMMSCHED_F32, 16, 1, 4),
            0);
  EXPECT_EQ(rank.getError(), "'nccl' cannot convert f32 to i32");
  EXPECT_NE(commsched_finalize(), 0);
}

TEST_F(NcclStreamsTest, EmulatedDataIsThatOfTheProcessor) {
  std::vector<float> results[2];
  for (const char *backend : {"nccl", "local"}) {
    TestRank rank(0, 1, 20000, [&](commsched_options &options) {
      options.backend = backend;
      options.emulate_data = 1;
    });
    ASSERT_TRUE(rank.load("", operators)) << rank.getError();
    char *in = rank.allocate(16), *out = rank.allocate(16);
    float values[4] = {1, 2, 3, 4};
    std::vector<float> back(4);
    commsched_upload(in, values, 16);
    const void *inputs[] = {in};
    void *outputs[] = {out};
    EXPECT_EQ(commsched_compute(1, 0, inputs, outputs), 0) << rank.getError();
    commsched_download(back.data(), out, 16);
    EXPECT_EQ(commsched_finalize(), 0) << rank.getError();
    results[backend == std::string("local")] = back;
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST_F(NcclStreamsTest, LargeBuffersAreNccls) {
  runRank([&](TestRank &rank) {
    standin::takeLog();
    char *small = rank.allocate(4096);
    EXPECT_EQ(standin::takeLog(), Lines({"cudaMalloc(4096)"}));
    char *large = rank.allocate(4 << 20);
    EXPECT_EQ(standin::takeLog(),
              Lines({"ncclMemAlloc(4194304)", "cudaMalloc(4194304)"}));
    EXPECT_NE(small, large);
    // Without NCCL's allocator there is CUDA's.
    standin::getSettings().failing["ncclMemAlloc"] = 1;
    EXPECT_TRUE(rank.allocate(8 << 20));
    EXPECT_EQ(standin::takeLog(),
              Lines({"ncclMemAlloc(8388608)", "cudaMalloc(8388608)"}));
  });
}
