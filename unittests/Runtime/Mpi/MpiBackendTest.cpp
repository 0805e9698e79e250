//===- MpiBackendTest.cpp - Tests of the MPI backend ----------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MpiRank.h"

#include "Numerics/ElementArithmetic.h"

using namespace commsched::runtime;
using namespace commsched::runtime::mpi;

namespace {

TEST_F(MpiRank, AveragesDivideOnce) {
  join();
  for (commsched_type type :
       {COMMSCHED_F8E5M2, COMMSCHED_BF16, COMMSCHED_F32, COMMSCHED_F64}) {
    constexpr int64_t count = 37;
    Site &site = makeSite(COMMSCHED_ALL_REDUCE, type, count, count);
    site.reduction = COMMSCHED_AVG;
    std::vector<float> values(count, static_cast<float>(rank % 3));
    std::vector<double> data(count), results(count), expected(count);
    convertElements(data.data(), type, values.data(), COMMSCHED_F32, count);
    run(site, data.data(), data.data());
    convertElements(results.data(), COMMSCHED_F64, data.data(), type, count);
    // The sum is exact, the quotient is rounded to the type.
    double sum = 0;
    for (int32_t other = 0; other != numRanks; ++other)
      sum += other % 3;
    std::vector<double> quotient(count, sum / numRanks);
    convertElements(data.data(), type, quotient.data(), COMMSCHED_F64, count);
    convertElements(expected.data(), COMMSCHED_F64, data.data(), type, count);
    EXPECT_EQ(results, expected) << type;
  }
}

TEST_F(MpiRank, InPlaceMovesNothingTwice) {
  join();
  constexpr int64_t count = 1000;
  std::vector<int32_t> data(count * numRanks, rank + 1);

  Site &gather =
      makeSite(COMMSCHED_ALL_GATHER, COMMSCHED_I32, count, count * numRanks);
  run(gather, data.data() + rank * count, data.data());
  EXPECT_EQ(getCalls().numInPlace, 1);
  Site &reduce = makeSite(COMMSCHED_ALL_REDUCE, COMMSCHED_I32, count, count);
  reduce.reduction = COMMSCHED_MAX;
  run(reduce, data.data(), data.data());
  EXPECT_EQ(getCalls().numInPlace, 2);
  EXPECT_EQ(records.stagedBytes, 0);
  EXPECT_EQ(data[0], 1);
  EXPECT_EQ(data.back(), numRanks);

  // MPI's in-place form delivers elsewhere: one part is copied.
  Site &scatter = makeSite(COMMSCHED_REDUCE_SCATTER, COMMSCHED_I32,
                           count * numRanks, count);
  scatter.reduction = COMMSCHED_SUM;
  run(scatter, data.data(), data.data() + rank * count);
  EXPECT_EQ(data[rank * count], (rank + 1) * numRanks);
  EXPECT_EQ(records.stagedBytes, numRanks == 1 ? 0 : count * 4);
}

TEST_F(MpiRank, PollsWhileItComputes) {
  join();
  constexpr int64_t count = 2 << 20;
  std::vector<float> data(count, 1);
  Site &site = makeSite(COMMSCHED_ALL_REDUCE, COMMSCHED_F32, count, count);
  site.reduction = COMMSCHED_SUM;
  Operator op;
  // Some milliseconds would do on an idle machine.
  constexpr int64_t computeNs = 400'000'000;

  ASSERT_EQ(backend->beginStep(), Status());
  auto request = start(site, data.data(), data.data());
  ASSERT_EQ(backend->compute(op, computeNs, nullptr, nullptr), Status());
  finish(std::move(request));
  int64_t stepNs = 0;
  ASSERT_EQ(backend->endStep(stepNs, getDeadline()), Status());

  ASSERT_EQ(records.all.size(), 3u);
  const Record &collective = records.all[0];
  const Record &compute = records.all[1];
  const Record &wait = records.all[2];
  EXPECT_EQ(collective.kind, COMMSCHED_RECORD_COLLECTIVE);
  EXPECT_EQ(compute.kind, COMMSCHED_RECORD_COMPUTE);
  EXPECT_EQ(wait.kind, COMMSCHED_RECORD_WAIT);
  EXPECT_LT(collective.interval.endNs, compute.interval.endNs);
  EXPECT_GE(compute.interval.endNs - compute.interval.beginNs, computeNs);
  EXPECT_GE(stepNs, wait.interval.endNs);
  EXPECT_EQ(records.numStarted, 1);
  EXPECT_EQ(records.numCompleted, 1);
  EXPECT_EQ(data[count - 1], numRanks);
}

TEST_F(MpiRank, LaunchesTensorsTogether) {
  join();
  Site &site = makeSite(COMMSCHED_ALL_REDUCE, COMMSCHED_F32, 3, 3);
  site.reduction = COMMSCHED_SUM;
  site.tensors.push_back(site.tensors[0]);
  std::vector<float> first(3, 1), second(3, 2);
  Launch launch;
  launch.site = &site;
  launch.group = &group;
  launch.inputs = {first.data(), second.data()};
  launch.outputs = {first.data(), second.data()};
  Status status;
  finish(backend->start(std::move(launch), status));
  EXPECT_EQ(getCalls().num, 2);
  EXPECT_EQ(first[2], numRanks);
  EXPECT_EQ(second[2], 2 * numRanks);
  EXPECT_EQ(records.numCompleted, 1);
}

TEST_F(MpiRank, ExchangesTextsOfAnyLength) {
  // More than fits into one call, and nothing.
  join(/*maxCount=*/10);
  std::vector<std::string> all;
  std::string mine(rank % 2 * 47, static_cast<char>('a' + rank % 26));
  ASSERT_EQ(backend->exchange(mine, all, getDeadline()), Status());
  ASSERT_EQ(all.size(), static_cast<size_t>(numRanks));
  for (int32_t other = 0; other != numRanks; ++other)
    EXPECT_EQ(all[other],
              std::string(other % 2 * 47, static_cast<char>('a' + other % 26)));
}

TEST_F(MpiRank, TagsHaveLimits) {
  join();
  Site &site = makeSite(COMMSCHED_SEND, COMMSCHED_F32, 1, 0);
  site.peer = 0;
  site.tag = 17;
  EXPECT_EQ(backend->checkSite(site), Status());
  site.tag = -1;
  Status status = backend->checkSite(site);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.getMessage().rfind("'mpi' has tags from 0 to ", 0), 0u);
  site.tag = INT32_MAX;
  EXPECT_NE(backend->checkSite(site), Status());
}

} // namespace
