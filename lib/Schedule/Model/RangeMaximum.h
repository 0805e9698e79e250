//===- RangeMaximum.h - Range maxima under range additions ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sequence of numbers with two operations: whether the maximum of a range
// exceeds a bound, and the addition of a number to a range. It is a segment
// tree whose nodes store what was added to all of their descendants.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_MODEL_RANGEMAXIMUM_H
#define COMMSCHED_LIB_SCHEDULE_MODEL_RANGEMAXIMUM_H

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace mlir::commsched::schedule {

class RangeMaximum {
public:
  /// O(n).
  explicit RangeMaximum(const std::vector<int64_t> &values) {
    while (width < static_cast<int32_t>(values.size()))
      width *= 2;
    largest.assign(2 * static_cast<size_t>(width), lowest);
    added.assign(2 * static_cast<size_t>(width), 0);
    std::copy(values.begin(), values.end(), largest.begin() + width);
    for (int32_t node = width - 1; node > 0; --node)
      largest[node] = std::max(largest[2 * node], largest[2 * node + 1]);
  }

  /// Adds to the values at [first, last). O(log n).
  void add(int32_t first, int32_t last, int64_t amount) {
    if (first >= last)
      return;
    int32_t left = first + width, right = last + width - 1;
    int32_t firstLeaf = left, lastLeaf = right;
    for (; left <= right; left /= 2, right /= 2) {
      if (left % 2 == 1)
        addTo(left++, amount);
      if (right % 2 == 0)
        addTo(right--, amount);
    }
    settle(firstLeaf);
    settle(lastLeaf);
  }

  /// Whether one of the values at [first, last) is larger than `bound`.
  /// O(log n); where all or none of many values are, mostly O(1).
  bool exceeds(int32_t first, int32_t last, int64_t bound) const {
    return first < last &&
           exceedsBelow(/*node=*/1, /*begin=*/0, width, {first, last}, bound);
  }

private:
  void addTo(int32_t node, int64_t amount) {
    largest[node] += amount;
    added[node] += amount;
  }

  /// exceeds() of the values that are in the range and below the node, which
  /// are those at [begin, end). `bound` is less what was added above the node.
  bool exceedsBelow(int32_t node, int32_t begin, int32_t end,
                    std::pair<int32_t, int32_t> range, int64_t bound) const {
    auto [first, last] = range;
    if (last <= begin || end <= first || largest[node] <= bound)
      return false;
    if (first <= begin && end <= last)
      return true;
    bound -= added[node];
    int32_t middle = begin + (end - begin) / 2;
    return exceedsBelow(2 * node, begin, middle, range, bound) ||
           exceedsBelow(2 * node + 1, middle, end, range, bound);
  }

  /// Makes what is above the leaf right again.
  void settle(int32_t leaf) {
    for (int32_t node = leaf / 2; node > 0; node /= 2)
      largest[node] =
          std::max(largest[2 * node], largest[2 * node + 1]) + added[node];
  }

  /// Of places behind the last value.
  static constexpr int64_t lowest = std::numeric_limits<int64_t>::min() / 4;

  int32_t width = 1;
  /// Of all below the node, with what was added to it and below it.
  std::vector<int64_t> largest;
  std::vector<int64_t> added;
};

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_MODEL_RANGEMAXIMUM_H
