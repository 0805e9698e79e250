//===- RangeMaximum.h - Range maxima under range additions ------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sequence of numbers with two operations: the maximum of a range, and the
// addition of a number to a range. It is a segment tree whose nodes store what
// was added to all of their descendants.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_LIB_SCHEDULE_MODEL_RANGEMAXIMUM_H
#define COMMSCHED_LIB_SCHEDULE_MODEL_RANGEMAXIMUM_H

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace mlir::commsched::schedule {

class RangeMaximum {
public:
  static constexpr int64_t lowest = std::numeric_limits<int64_t>::min() / 4;

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

  /// The largest of the values at [first, last); `lowest` if there are none.
  /// O(log n).
  int64_t maximum(int32_t first, int32_t last) const {
    if (first >= last)
      return lowest;
    int32_t left = first + width, right = last + width - 1;
    int64_t fromLeft = lowest, fromRight = lowest;
    int32_t leftPath = left, rightPath = right;
    // On the way up each side takes along what was added above what it has
    // seen.
    for (; left <= right; left /= 2, right /= 2) {
      if (left % 2 == 1)
        fromLeft = std::max(fromLeft, largest[left++]);
      if (right % 2 == 0)
        fromRight = std::max(fromRight, largest[right--]);
      leftPath /= 2;
      rightPath /= 2;
      fromLeft += added[leftPath];
      fromRight += added[rightPath];
    }
    for (leftPath /= 2, rightPath /= 2; leftPath > 0;
         leftPath /= 2, rightPath /= 2) {
      fromLeft += added[leftPath];
      fromRight += added[rightPath];
    }
    return std::max(fromLeft, fromRight);
  }

private:
  void addTo(int32_t node, int64_t amount) {
    largest[node] += amount;
    added[node] += amount;
  }

  /// Makes what is above the leaf right again.
  void settle(int32_t leaf) {
    for (int32_t node = leaf / 2; node > 0; node /= 2)
      largest[node] =
          std::max(largest[2 * node], largest[2 * node + 1]) + added[node];
  }

  int32_t width = 1;
  /// Of all below the node, with what was added to it and below it.
  std::vector<int64_t> largest;
  std::vector<int64_t> added;
};

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_LIB_SCHEDULE_MODEL_RANGEMAXIMUM_H
