//===- Knapsack.cpp - 0/1 knapsack of saved values ------------------------===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommSched/Partition/Knapsack.h"

#include <algorithm>

using namespace mlir::commsched;
using namespace mlir::commsched::partition;

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

/// The items that gain anything, those with the most gain per byte first.
static std::vector<int32_t>
sortByDensity(const std::vector<KnapsackItem> &items) {
  std::vector<int32_t> order;
  for (size_t i = 0; i < items.size(); ++i)
    if (items[i].gain > 0)
      order.push_back(static_cast<int32_t>(i));
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    Wide left = Wide(items[a].gain) * Wide(items[b].bytes);
    Wide right = Wide(items[b].gain) * Wide(items[a].bytes);
    return left != right ? left > right : a < b;
  });
  return order;
}

/// The longest run of the densest items that fits, ascending: the most that can
/// be gained but for a part of the next one, and never less for more capacity.
static std::vector<int32_t> takeDensest(const std::vector<KnapsackItem> &items,
                                        int64_t capacityBytes) {
  std::vector<int32_t> order = sortByDensity(items);
  size_t length = 0;
  for (int64_t left = capacityBytes;
       length < order.size() && items[order[length]].bytes <= left; ++length)
    left -= items[order[length]].bytes;
  order.resize(length);
  std::sort(order.begin(), order.end());
  return order;
}

/// By dynamic programming over sizes in steps, ascending.
static std::vector<int32_t>
chooseBySteps(const std::vector<KnapsackItem> &items, int64_t capacityBytes) {
  bool isExact = capacityBytes <= maxSteps;
  std::vector<int32_t> chosen;
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < items.size(); ++i) {
    auto [bytes, gain] = items[i];
    int32_t index = static_cast<int32_t>(i);
    if (gain == 0 || bytes > capacityBytes)
      continue;
    if (bytes == 0) {
      chosen.push_back(index);
      continue;
    }
    // Rounding the same size up to steps of a larger capacity never gives more
    // of them, so a larger capacity never gains less.
    Wide rounded = (Wide(bytes) * maxSteps + Wide(capacityBytes - 1)) /
                   Wide(capacityBytes);
    candidates.push_back(
        {index, isExact ? bytes : static_cast<int64_t>(rounded), gain});
  }
  if (!candidates.empty())
    StepSolver(candidates, chosen)
        .solve(0, candidates.size(), std::min(capacityBytes, maxSteps));
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

static int64_t sumGains(const std::vector<KnapsackItem> &items,
                        const std::vector<int32_t> &chosen) {
  int64_t sum = 0;
  for (int32_t index : chosen)
    sum += items[index].gain;
  return sum;
}

std::vector<int32_t>
partition::solveKnapsack(const std::vector<KnapsackItem> &items,
                         int64_t capacityBytes) {
  if (capacityBytes < 0)
    return {};
  // Many small items lose more by rounding than there is to choose.
  std::vector<int32_t> bySteps = chooseBySteps(items, capacityBytes);
  std::vector<int32_t> densest = takeDensest(items, capacityBytes);
  return sumGains(items, densest) > sumGains(items, bySteps) ? densest
                                                             : bySteps;
}

std::vector<int32_t>
partition::solveKnapsackGreedily(const std::vector<KnapsackItem> &items,
                                 int64_t capacityBytes) {
  std::vector<int32_t> chosen;
  int64_t left = capacityBytes;
  for (int32_t index : sortByDensity(items)) {
    if (items[index].bytes > left)
      continue;
    left -= items[index].bytes;
    chosen.push_back(index);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}
