//===- MemoryTimeline.h - Memory model --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The memory model: an operation allocates its buffers when it begins, and when
// it ends it frees the buffers of which it is the last user. The peak is
// measured between the two.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_MODEL_MEMORYTIMELINE_H
#define COMMSCHED_SCHEDULE_MODEL_MEMORYTIMELINE_H

#include "CommSched/Schedule/Model/Problem.h"

namespace mlir::commsched::schedule {

/// Live bytes along an order.
struct MemoryTimeline {
  /// Before the first operation: what is live from the start.
  int64_t initialBytes = 0;
  /// By position: after the operation there allocated, before it freed.
  std::vector<int64_t> allocatedBytes;
  /// By position: after the operation there freed.
  std::vector<int64_t> remainingBytes;
  /// The largest of all the above.
  int64_t peakBytes = 0;
  /// The first position that reaches the peak; -1 if there is no operation.
  int32_t peakPosition = -1;
};

/// Live bytes at each position of `order`.
///
/// A buffer that is freed is freed when its last user (in this order) ends; one
/// without users, when its producer ends; one without users and producer is
/// never freed. Error: the problem has one, or the order does not have each
/// operation once. Whether users come after the producer is not checked:
/// verify() checks it. O(nodes + buffers + uses).
Result<MemoryTimeline> simulateMemory(const Problem &problem,
                                      const Order &order);

/// The buffers that are live at `position` of `order`, when the operation there
/// has allocated and not yet freed, ascending; at -1, before the first
/// operation, those that are live from the start. Their sizes add up to
/// `allocatedBytes` (to `initialBytes` at -1) of simulateMemory(), which has
/// the rules. Error: as there, or there is no such position.
/// O(nodes + buffers + uses).
Result<std::vector<BufferId>> findLive(const Problem &problem,
                                       const Order &order, int32_t position);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_MODEL_MEMORYTIMELINE_H
