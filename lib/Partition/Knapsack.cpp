//===- Knapsack.cpp - What is worth its bytes -----------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/Knapsack.h"

#include <algorithm>
#include <numeric>

using namespace commsched;

namespace {

// Products of two 64-bit numbers.
__extension__ using Wide = unsigned __int128;

constexpr int64_t maxSteps = 10'000;

/// An item whose size is counted in steps.
struct Candidate {
  int32_t index;
  /// Between 1 and the capacity.
  int64_t steps;
  /// Positive.
  int64_t gain;
};

using Row = std::vector<int64_t>;

/// Chooses among the candidates in [begin, end) for a capacity, and appends
/// what is chosen in ascending order.
class StepSolver {
public:
  StepSolver(const std::vector<Candidate> &candidates,
             std::vector<int32_t> &chosen)
      : candidates(candidates), chosen(chosen) {}

  void solve(size_t begin, size_t end, int64_t capacity);

private:
  /// By capacity up to `capacity`: the most gain from [begin, end).
  void computeGains(size_t begin, size_t end, int64_t capacity, Row &gains);

  const std::vector<Candidate> &candidates;
  std::vector<int32_t> &chosen;
  Row earlierGains;
  Row laterGains;
  Row nextGains;
};

} // namespace

void StepSolver::computeGains(size_t begin, size_t end, int64_t capacity,
                              Row &gains) {
  gains.assign(capacity + 1, 0);
  nextGains.resize(capacity + 1);
  for (size_t i = begin; i < end; ++i) {
    auto [index, steps, gain] = candidates[i];
    if (steps > capacity)
      continue;
    std::copy_n(gains.begin(), steps, nextGains.begin());
    for (int64_t used = steps; used <= capacity; ++used)
      nextGains[used] = std::max(gains[used], gains[used - steps] + gain);
    gains.swap(nextGains);
  }
}

void StepSolver::solve(size_t begin, size_t end, int64_t capacity) {
  int64_t sum = 0;
  for (size_t i = begin; i < end && sum <= capacity; ++i)
    sum += candidates[i].steps;
  if (sum <= capacity) {
    for (size_t i = begin; i < end; ++i)
      chosen.push_back(candidates[i].index);
    return;
  }
  if (end - begin == 1)
    return;
  size_t middle = begin + (end - begin) / 2;
  const Row &earlier = earlierGains;
  const Row &later = laterGains;
  computeGains(begin, middle, capacity, earlierGains);
  computeGains(middle, end, capacity, laterGains);
  int64_t most = 0;
  for (int64_t used = 0; used <= capacity; ++used)
    most = std::max(most, earlier[capacity - used] + later[used]);
  // The fewest steps that gain that much, and of these the fewest for the later
  // half. What the earlier half needs only falls as the later one gets more.
  int64_t fewestEarlier = capacity;
  int64_t fewestLater = capacity;
  int64_t needed = capacity;
  for (int64_t used = 0; used <= capacity; ++used) {
    if (earlier[needed] + later[used] < most)
      continue;
    while (needed > 0 && earlier[needed - 1] + later[used] >= most)
      --needed;
    if (needed + used < fewestEarlier + fewestLater) {
      fewestEarlier = needed;
      fewestLater = used;
    }
  }
  solve(begin, middle, fewestEarlier);
  solve(middle, end, fewestLater);
}

/// Whether the items that gain anything fit all together.
static bool doAllFit(const std::vector<KnapsackItem> &items,
                     int64_t capacityBytes) {
  int64_t left = capacityBytes;
  for (const KnapsackItem &item : items) {
    if (item.gain == 0)
      continue;
    if (item.bytes > left)
      return false;
    left -= item.bytes;
  }
  return true;
}

std::vector<int32_t>
commsched::solveKnapsack(const std::vector<KnapsackItem> &items,
                         int64_t capacityBytes) {
  std::vector<int32_t> chosen;
  if (capacityBytes < 0)
    return chosen;
  bool allFit = doAllFit(items, capacityBytes);
  bool isExact = capacityBytes <= maxSteps;
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < items.size(); ++i) {
    auto [bytes, gain] = items[i];
    int32_t index = static_cast<int32_t>(i);
    if (gain == 0 || bytes > capacityBytes)
      continue;
    if (allFit || bytes == 0) {
      chosen.push_back(index);
      continue;
    }
    // Rounding the same size up to steps of a larger capacity never gives more
    // of them, so a larger capacity never gains less.
    Wide rounded = (Wide(bytes) * maxSteps + (capacityBytes - 1)) /
                   Wide(std::max<int64_t>(capacityBytes, 1));
    candidates.push_back(
        {index, isExact ? bytes : static_cast<int64_t>(rounded), gain});
  }
  if (!candidates.empty())
    StepSolver(candidates, chosen)
        .solve(0, candidates.size(), std::min(capacityBytes, maxSteps));
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::vector<int32_t>
commsched::solveKnapsackGreedily(const std::vector<KnapsackItem> &items,
                                 int64_t capacityBytes) {
  std::vector<int32_t> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  order.erase(std::remove_if(order.begin(), order.end(),
                             [&](int32_t i) { return items[i].gain == 0; }),
              order.end());
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    Wide left = Wide(items[a].gain) * Wide(items[b].bytes);
    Wide right = Wide(items[b].gain) * Wide(items[a].bytes);
    return left != right ? left > right : a < b;
  });
  std::vector<int32_t> chosen;
  int64_t left = capacityBytes;
  for (int32_t index : order) {
    if (items[index].bytes > left)
      continue;
    left -= items[index].bytes;
    chosen.push_back(index);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}
