//===- SortBy.h - Indices in the order of a value ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_MODEL_SORTBY_H
#define COMMSCHED_SCHEDULE_MODEL_SORTBY_H

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace mlir::commsched::schedule {

/// Returns the numbers from 0 below `count` by a value ascending; equal ones by
/// index.
template <typename ValueFn>
std::vector<int32_t> sortBy(size_t count, ValueFn valueOf) {
  std::vector<int32_t> sorted(count);
  std::iota(sorted.begin(), sorted.end(), 0);
  std::stable_sort(sorted.begin(), sorted.end(), [&](int32_t a, int32_t b) {
    return valueOf(a) < valueOf(b);
  });
  return sorted;
}

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_MODEL_SORTBY_H
