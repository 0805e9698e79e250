//===- Knapsack.h - 0/1 knapsack of saved values ----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The 0/1 knapsack problem: selects among the values that could be saved those
// that avoid the most recomputation within a number of bytes.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_PARTITION_KNAPSACK_H
#define COMMSCHED_PARTITION_KNAPSACK_H

#include <cstdint>
#include <vector>

namespace mlir::commsched::partition {

struct KnapsackItem {
  /// Not negative.
  int64_t bytes = 0;
  /// The recomputation that saving it avoids, in any unit; not negative. The
  /// sum over all items must fit in an int64_t.
  int64_t gain = 0;
};

/// The items to save, ascending: never more than `capacityBytes` in all, and
/// none without a gain.
///
/// By dynamic programming over sizes in steps of a ten-thousandth of the
/// capacity (exact if the capacity is that many bytes or fewer), rounded up, so
/// that what is chosen fits for certain. Of either half of the items one row is
/// kept at a time: the choice is found by divide and conquer over the items
/// (Hirschberg, "A linear space algorithm for computing maximal common
/// subsequences", 1975). O(items × steps) time, O(items + steps) memory. Of
/// choices with equal gain, one with the fewest steps is chosen, and of those,
/// halving the items that have a size, a gain and would fit again and again,
/// the one with the fewest steps in the later half.
///
/// If the longest run of items with the most gain per byte that fits gains more
/// than that, since there are many small items that rounding makes large, it is
/// chosen instead. Either way a larger capacity never gains less.
std::vector<int32_t> solveKnapsack(const std::vector<KnapsackItem> &items,
                                   int64_t capacityBytes);

/// Items to save as above, by taking the items with the most gain per byte
/// first, equal ones in the given order, and leaving out each that no longer
/// fits. O(n log n).
std::vector<int32_t>
solveKnapsackGreedily(const std::vector<KnapsackItem> &items,
                      int64_t capacityBytes);

} // namespace mlir::commsched::partition

#endif // COMMSCHED_PARTITION_KNAPSACK_H
