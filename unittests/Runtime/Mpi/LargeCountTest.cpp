//===- LargeCountTest.cpp - Test of messages beyond MPI's counts ----------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With a limit of a few elements. What matters is that no call gets more, and
// that the parts fit together.
//
//===----------------------------------------------------------------------===//

#include "MpiRank.h"

#include "Numerics/ElementArithmetic.h"

using namespace commsched::runtime;
using namespace commsched::runtime::mpi;

namespace {

/// Some are below the limit, at it, multiples of it, and neither.
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
