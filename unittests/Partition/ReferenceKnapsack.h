//===- ReferenceKnapsack.h - Exhaustive knapsack ----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Solves the knapsack by trying every choice. The tests compare the fast solver
// with it, including ties.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_UNITTESTS_PARTITION_REFERENCEKNAPSACK_H
#define COMMSCHED_UNITTESTS_PARTITION_REFERENCEKNAPSACK_H

#include "CommSched/Partition/SavedValues.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <vector>

namespace mlir::commsched::partition::testing {

class ReferenceKnapsack {
public:
  /// No more than 20 items; sizes are not rounded.
  static std::vector<int32_t> solve(const std::vector<KnapsackItem> &items,
                                    int64_t capacity) {
    std::vector<int32_t> halved;
    std::vector<int32_t> best;
    for (size_t i = 0; i < items.size(); ++i)
      if (items[i].gain > 0 && items[i].bytes <= capacity)
        (items[i].bytes == 0 ? best : halved)
            .push_back(static_cast<int32_t>(i));
    if (capacity < 0)
      return {};
    std::vector<uint32_t> choices = listBest(items, halved, capacity);
    keepFewestLater(items, halved, 0, halved.size(), choices);
    for (size_t i = 0; i < halved.size(); ++i)
      if (choices[0] >> i & 1)
        best.push_back(halved[i]);
    std::sort(best.begin(), best.end());
    return best;
  }

private:
  using Items = std::vector<KnapsackItem>;
  using Indices = std::vector<int32_t>;

  /// The bytes that `choice` takes of the items [begin, end).
  static int64_t measure(const Items &items, const Indices &indices,
                         uint32_t choice, size_t begin, size_t end) {
    int64_t bytes = 0;
    for (size_t i = begin; i < end; ++i)
      if (choice >> i & 1)
        bytes += items[indices[i]].bytes;
    return bytes;
  }

  /// All choices with the most gain and the fewest bytes.
  static std::vector<uint32_t>
  listBest(const Items &items, const Indices &indices, int64_t capacity) {
    std::vector<uint32_t> best;
    int64_t most = -1;
    int64_t fewest = 0;
    for (uint32_t choice = 0; choice < (1u << indices.size()); ++choice) {
      int64_t bytes = measure(items, indices, choice, 0, indices.size());
      int64_t gain = 0;
      for (size_t i = 0; i < indices.size(); ++i)
        if (choice >> i & 1)
          gain += items[indices[i]].gain;
      if (bytes > capacity)
        continue;
      if (gain > most || (gain == most && bytes < fewest)) {
        best.clear();
        most = gain;
        fewest = bytes;
      }
      if (gain == most && bytes == fewest)
        best.push_back(choice);
    }
    return best;
  }

  /// Of `choices` those with the fewest bytes in the later half, and so on.
  static void keepFewestLater(const Items &items, const Indices &indices,
                              size_t begin, size_t end,
                              std::vector<uint32_t> &choices) {
    if (end - begin < 2)
      return;
    size_t middle = begin + (end - begin) / 2;
    int64_t fewest = std::numeric_limits<int64_t>::max();
    for (uint32_t choice : choices)
      fewest = std::min(fewest, measure(items, indices, choice, middle, end));
    choices.erase(std::remove_if(choices.begin(), choices.end(),
                                 [&](uint32_t choice) {
                                   return measure(items, indices, choice,
                                                  middle, end) > fewest;
                                 }),
                  choices.end());
    keepFewestLater(items, indices, begin, middle, choices);
    keepFewestLater(items, indices, middle, end, choices);
  }
};

} // namespace mlir::commsched::partition::testing

#endif // COMMSCHED_UNITTESTS_PARTITION_REFERENCEKNAPSACK_H
