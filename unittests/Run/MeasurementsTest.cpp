//===- MeasurementsTest.cpp - Tests of what a run measures ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CompiledProgram.h"
#include "gtest/gtest.h"

#include <thread>

using namespace mlir::commsched::run;

namespace {

constexpr int32_t collective = COMMSCHED_RECORD_COLLECTIVE;
constexpr int32_t wait = COMMSCHED_RECORD_WAIT;
constexpr int32_t compute = COMMSCHED_RECORD_COMPUTE;

/// Site 0 runs twice and is waited for twice, site 1 never; operator 1 runs.
MeasuredRun makeRun(int64_t stepNs, int64_t shift) {
  return {stepNs,
          1000 + shift,
          50 + shift,
          {{collective, 0, 10 + shift, 30 + shift},
           {compute, 1, 15, 18 + shift},
           {wait, 0, 20, 25},
           {collective, 0, 40 + shift, 45 + shift},
           {wait, 0, 41, 43 + shift}}};
}

TEST(Measurements, MedianIsTheLowerOfTwo) {
  EXPECT_EQ(getMedian({7}), 7);
  EXPECT_EQ(getMedian({9, 7}), 7);
  EXPECT_EQ(getMedian({5, 9, 7}), 7);
  EXPECT_EQ(getMedian({5, 9, 7, 8}), 7);
}

TEST(Measurements, AddsUpTheExecutionsOfASite) {
  Summary summary = summarize({makeRun(100, 0)}, /*siteCalls=*/{0, 0});
  EXPECT_EQ(summary.stepNs, 100);
  EXPECT_EQ(summary.peakBytes, 1000);
  EXPECT_EQ(summary.hostPeakBytes, 50);
  EXPECT_EQ(summary.exposedNs, 7);
  ASSERT_EQ(summary.sites.size(), 2u);
  EXPECT_EQ(summary.sites[0].startNs, 10);
  EXPECT_EQ(summary.sites[0].durationNs, 25);
  EXPECT_EQ(summary.sites[0].exposedNs, 7);
  // What did not run has no times.
  EXPECT_EQ(summary.sites[1].startNs, -1);
  EXPECT_EQ(summary.sites[1].durationNs, -1);
  EXPECT_EQ(summary.sites[1].exposedNs, -1);
}

TEST(Measurements, WhatIsNotWaitedForIsHidden) {
  Summary summary = summarize({{50, 0, 0, {{collective, 0, 5, 20}}}}, {0});
  EXPECT_EQ(summary.sites[0].exposedNs, 0);
  EXPECT_EQ(summary.exposedNs, 0);
}

TEST(Measurements, ThePeriodIsThatOfTheSecondHalf) {
  // Five calls; site 0 starts twice in each, site 1 in the first only.
  MeasuredRun run = {1000, 0, 0, {}};
  for (int64_t start : {0, 5, 90, 95, 200, 205, 310, 315, 410, 415})
    run.records.push_back({collective, 0, start, start + 1});
  run.records.push_back({collective, 1, 3, 4});
  EXPECT_EQ(summarize({run}, {5, 1}).periodNs, (410 - 200) / 2);
  EXPECT_EQ(summarize({run}, {0, 1}).periodNs, -1);
  EXPECT_EQ(summarize({run}, {4, 1}).periodNs, -1);
}

TEST(Measurements, TakesTheMedianOfEachNumber) {
  Summary summary =
      summarize({makeRun(300, 0), makeRun(100, 2), makeRun(200, 8)}, {0, 0});
  EXPECT_EQ(summary.stepNs, 200);
  EXPECT_EQ(summary.peakBytes, 1002);
  EXPECT_EQ(summary.hostPeakBytes, 52);
  EXPECT_EQ(summary.sites[0].startNs, 12);
  EXPECT_EQ(summary.sites[0].exposedNs, 9);
}

TEST(Measurements, TakesTheLargestOverRanks) {
  auto run = [](int32_t rank, std::vector<int64_t> numbers) {
    commsched_options options = {"local", rank, 2, "", 5000, 0, 0, 0, nullptr};
    commsched_init(&options);
    EXPECT_TRUE(succeeded(exchangeLargest(numbers)));
    EXPECT_EQ(numbers, (std::vector<int64_t>{3, 5, -1}));
    commsched_finalize();
  };
  std::thread other(run, 1, std::vector<int64_t>{2, 5, -1});
  run(0, {3, 1, -1});
  other.join();
}

TEST(Measurements, SummariesTravelAsNumbers) {
  auto numbers = summarize({makeRun(300, 1)}, {0, 0, 0}).toNumbers();
  EXPECT_EQ(numbers.size(), 5u + 3 * 3);
  EXPECT_EQ(Summary::fromNumbers(numbers).toNumbers(), numbers);
}

TEST(Measurements, MedianTimesAreThoseOfOneExecution) {
  auto sites = getMedianTimes({makeRun(1, 0), makeRun(1, 0)},
                              COMMSCHED_RECORD_COLLECTIVE, 2);
  EXPECT_EQ(sites[0], 5);
  EXPECT_EQ(sites[1], std::nullopt);
  auto operators = getMedianTimes({makeRun(1, 0), makeRun(1, 4), makeRun(1, 9)},
                                  COMMSCHED_RECORD_COMPUTE, 2);
  EXPECT_EQ(operators[0], std::nullopt);
  EXPECT_EQ(operators[1], 7);
}

} // namespace

TEST(ProgramSites, NamesGroupsAndStreams) {
  llvm::Expected<ProgramSites> program = ProgramSites::parse(
      R"({"version": 1,
          "groups": [{"name": "dp", "size": 2, "implementation":
                      {"name": "few", "method": "nccl"}}],
          "sites": [{"name": "a", "kind": "barrier", "group": 0},
                    {"name": "b", "kind": "reload", "tensors":
                     [{"type": "f32", "inputs": 1, "outputs": 1}]}]})");
  ASSERT_TRUE(bool(program)) << llvm::toString(program.takeError());
  EXPECT_EQ(program->sites.at(0).getStreamName(), "dp (few)");
  EXPECT_EQ(program->sites.at(1).getStreamName(), "h2d");
}
