//===- HiddenTransfersTest.cpp - Tests of hidden transfers ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "CommSched/Schedule/Transfers/HiddenTransfers.h"
#include "CommSched/Support/Unlimited.h"
#include "TestProblems.h"

using namespace mlir::commsched::schedule::testing;

/// Transfers of `durationNs` in both directions.
static TransferCandidate makeCandidate(int64_t readyNs, int64_t neededNs,
                                       int64_t durationNs) {
  return {durationNs, readyNs, neededNs, durationNs, durationNs, false};
}

TEST(HiddenTransfers, TakesThoseWithTheLongestGap) {
  // Three layers of a forward of 30 ns; the backward uses the last one first.
  std::vector<TransferCandidate> layers = {makeCandidate(10, 40, 10),
                                           makeCandidate(20, 20, 10),
                                           makeCandidate(30, 0, 10)};
  EXPECT_EQ(chooseHiddenTransfers(layers, {30, unlimited}),
            (std::vector<int32_t>{0, 1}));
}

TEST(HiddenTransfers, ExposesOnlyWhatMayBe) {
  std::vector<TransferCandidate> layers = {makeCandidate(30, 0, 10),
                                           makeCandidate(30, 0, 10)};
  layers[1].mayBeExposed = true;
  EXPECT_EQ(chooseHiddenTransfers(layers, {30, unlimited}),
            std::vector<int32_t>{1});
}

namespace {
/// The slow reference: both streams are simulated.
class Streams {
public:
  Streams(const std::vector<TransferCandidate> &candidates, int64_t forwardNs)
      : candidates(candidates), forwardNs(forwardNs) {}

  bool hide(std::vector<int32_t> chosen) const {
    int64_t clock = 0;
    sort(chosen, [](const TransferCandidate &c) { return c.readyNs; });
    for (int32_t index : chosen)
      clock = std::max(clock, candidates[index].readyNs) +
              candidates[index].offloadNs;
    if (!chosen.empty() && clock > forwardNs)
      return false;
    clock = 0;
    sort(chosen, [](const TransferCandidate &c) { return c.neededNs; });
    for (int32_t index : chosen) {
      clock += candidates[index].reloadNs;
      if (clock > candidates[index].neededNs)
        return false;
    }
    return true;
  }

private:
  template <typename Key>
  void sort(std::vector<int32_t> &chosen, Key getKey) const {
    std::stable_sort(chosen.begin(), chosen.end(), [&](int32_t a, int32_t b) {
      return getKey(candidates[a]) < getKey(candidates[b]);
    });
  }

  const std::vector<TransferCandidate> &candidates;
  int64_t forwardNs;
};
} // namespace

TEST(HiddenTransfers, AreHiddenAndCannotBeMore) {
  size_t numChosen = 0, numLeft = 0;
  for (uint64_t seed : Seeds(2000)) {
    std::mt19937 random(seed);
    TransferLimits limits{static_cast<int64_t>(random() % 200),
                          static_cast<int64_t>(random() % 400)};
    std::vector<TransferCandidate> candidates(random() % 12);
    for (TransferCandidate &candidate : candidates)
      candidate = {static_cast<int64_t>(random() % 100),
                   static_cast<int64_t>(random() % (limits.forwardNs + 1)),
                   static_cast<int64_t>(random() % 300),
                   static_cast<int64_t>(random() % 60),
                   static_cast<int64_t>(random() % 60),
                   false};
    std::vector<int32_t> chosen = chooseHiddenTransfers(candidates, limits);
    Streams streams(candidates, limits.forwardNs);
    EXPECT_TRUE(streams.hide(chosen));
    int64_t bytes = 0;
    for (int32_t index : chosen)
      bytes += candidates[index].bytes;
    EXPECT_LE(bytes, limits.hostBytes);
    for (int32_t index = 0; index < static_cast<int32_t>(candidates.size());
         ++index) {
      if (std::binary_search(chosen.begin(), chosen.end(), index) ||
          bytes + candidates[index].bytes > limits.hostBytes)
        continue;
      std::vector<int32_t> more = chosen;
      more.push_back(index);
      std::sort(more.begin(), more.end());
      EXPECT_FALSE(streams.hide(more));
      ++numLeft;
    }
    numChosen += chosen.size();
  }
  EXPECT_GT(numChosen, 300u);
  EXPECT_GT(numLeft, 300u);
}
