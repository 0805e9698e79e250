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

/// With a limit of a few elements no call gets more, and the parts fit
/// together. Some counts are below the limit, at it, multiples of it, and
/// neither.
constexpr int64_t limit = 12;
const std::vector<int64_t> counts = {1, 3, 12, 13, 36, 100};

class LargeCount : public MpiRank {
protected:
  void SetUp() override { join(limit); }
  void TearDown() override {
    EXPECT_GT(getCalls().num, 0);
    EXPECT_LE(getCalls().largestCount, limit);
    MpiRank::TearDown();
  }

  /// Returns the i-th element that `from` sends: small, as bf16 must represent
  /// sums.
  static float getValue(int64_t from, int64_t i) {
    return static_cast<float>((from * 5 + i * 3) % 7);
  }
  std::vector<float> makeInput(int64_t count) const {
    std::vector<float> input(count);
    for (int64_t i = 0; i != count; ++i)
      input[i] = getValue(rank, i);
    return input;
  }
  /// Runs the site, and expects what a function says of every element.
  template <typename Fn> void expectOutput(const Site &site, Fn expected) {
    std::vector<float> output(site.tensors[0].outputs, -1);
    run(site, makeInput(site.tensors[0].inputs).data(), output.data());
    for (int64_t i = 0; i != site.tensors[0].outputs; ++i)
      ASSERT_EQ(output[i], expected(i)) << site.name << " " << i;
  }
  float getSum(int64_t i) const {
    float sum = 0;
    for (int64_t from = 0; from != numRanks; ++from)
      sum += getValue(from, i);
    return sum;
  }
};

TEST_F(LargeCount, PartsFitTogether) {
  for (int64_t count : counts) {
    const int64_t all = count * numRanks;
    expectOutput(makeSite(COMMSCHED_ALL_GATHER, COMMSCHED_F32, count, all),
                 [&](int64_t i) { return getValue(i / count, i % count); });
    expectOutput(makeSite(COMMSCHED_ALL_TO_ALL, COMMSCHED_F32, all, all),
                 [&](int64_t i) {
                   return getValue(i / count, rank * count + i % count);
                 });
    Site &reduce = makeSite(COMMSCHED_ALL_REDUCE, COMMSCHED_F32, count, count);
    reduce.reduction = COMMSCHED_SUM;
    expectOutput(reduce, [&](int64_t i) { return getSum(i); });
    Site &broadcast =
        makeSite(COMMSCHED_BROADCAST, COMMSCHED_F32, count, count);
    broadcast.peer = numRanks - 1;
    expectOutput(broadcast,
                 [&](int64_t i) { return getValue(numRanks - 1, i); });
    // Every rank sends to the next one, but none to rank 0.
    Site &permute = makeSite(COMMSCHED_PERMUTE, COMMSCHED_F32, count, count);
    for (int32_t target = 1; target < numRanks; ++target)
      permute.pairs.push_back({target - 1, target});
    expectOutput(permute, [&](int64_t i) {
      return rank == 0 ? 0 : getValue(rank - 1, i);
    });
  }
}

TEST_F(LargeCount, InPlace) {
  for (int64_t count : counts) {
    Site &gather =
        makeSite(COMMSCHED_ALL_GATHER, COMMSCHED_F32, count, count * numRanks);
    std::vector<float> gathered(count * numRanks, -1);
    std::vector<float> input = makeInput(count);
    std::copy(input.begin(), input.end(), gathered.begin() + rank * count);
    run(gather, gathered.data() + rank * count, gathered.data());
    for (int64_t i = 0; i != count * numRanks; ++i)
      ASSERT_EQ(gathered[i], getValue(i / count, i % count));
    Site &reduce = makeSite(COMMSCHED_ALL_REDUCE, COMMSCHED_F32, count, count);
    reduce.reduction = COMMSCHED_SUM;
    run(reduce, input.data(), input.data());
    for (int64_t i = 0; i != count; ++i)
      ASSERT_EQ(input[i], getSum(i)) << count << " " << i;
  }
}

TEST_F(LargeCount, ReduceScatter) {
  for (int64_t count : counts) {
    // In two bytes, by an operation of ours.
    Site &site = makeSite(COMMSCHED_REDUCE_SCATTER, COMMSCHED_BF16,
                          count * numRanks, count);
    site.reduction = COMMSCHED_SUM;
    std::vector<uint16_t> input(count * numRanks), output(count);
    convertElements(input.data(), COMMSCHED_BF16,
                    makeInput(count * numRanks).data(), COMMSCHED_F32,
                    count * numRanks);
    run(site, input.data(), output.data());
    run(site, input.data(), input.data() + rank * count);
    EXPECT_TRUE(
        std::equal(output.begin(), output.end(), input.begin() + rank * count));
    std::vector<float> result(count);
    convertElements(result.data(), COMMSCHED_F32, output.data(), COMMSCHED_BF16,
                    count);
    for (int64_t i = 0; i != count; ++i)
      ASSERT_EQ(result[i], getSum(rank * count + i)) << count << " " << i;
  }
}

TEST_F(LargeCount, UnevenAllToAll) {
  // Rank r sends (r + 2 t) % 5 * 9 elements to rank t: some send none.
  auto getSplit = [](int64_t from, int64_t to) {
    return (from + 2 * to) % 5 * 9;
  };
  Site &site = makeSite(COMMSCHED_ALL_TO_ALL, COMMSCHED_F32, 0, 0);
  Tensor &tensor = site.tensors[0];
  std::vector<float> expected;
  for (int64_t other = 0; other != numRanks; ++other) {
    tensor.inputSplits.push_back(getSplit(rank, other));
    tensor.outputSplits.push_back(getSplit(other, rank));
    tensor.inputs += getSplit(rank, other);
    tensor.outputs += getSplit(other, rank);
    int64_t offset = 0;
    for (int64_t before = 0; before != rank; ++before)
      offset += getSplit(other, before);
    for (int64_t i = 0; i != getSplit(other, rank); ++i)
      expected.push_back(getValue(other, offset + i));
  }
  std::vector<float> output(tensor.outputs, -1);
  std::vector<float> input = makeInput(tensor.inputs);
  run(site, input.data(), output.data());
  EXPECT_EQ(output, expected);
}

} // namespace
