//===- StepCache.h - Schedules of equal problems ----------------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Keeps what the step scheduler found, for problems that are solved several
// times: loops with the same body, or the same loop in several trials.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_STEP_STEPCACHE_H
#define COMMSCHED_SCHEDULE_STEP_STEPCACHE_H

#include "CommSched/Schedule/Model/Problem.h"

#include <map>
#include <mutex>
#include <optional>

namespace mlir::commsched::schedule {

struct StepSchedule;
struct StepSchedulerOptions;

/// Schedules by all that they depend on, so that a schedule is the same with
/// and without a cache. Threads may share one.
class StepCache {
public:
  /// A problem with the options of the scheduler, as numbers. Equal keys are
  /// keys of equal problems, down to the order in which they were built.
  using Key = std::vector<int64_t>;

  /// `isRepeated`: as of a round of the scheduler. O(nodes + dependences +
  /// buffers + uses).
  static Key makeKey(const Problem &problem,
                     const StepSchedulerOptions &options, bool isRepeated);

  /// Returns what was kept for `key`. O(key * log of the schedules).
  std::optional<StepSchedule> find(const Key &key) const;

  /// Keeps a schedule, while there is space.
  void keep(Key key, const StepSchedule &schedule);

private:
  /// Of all keys together: 64 MiB.
  static constexpr size_t maxNumbers = 1 << 23;

  mutable std::mutex mutex;
  std::map<Key, StepSchedule> schedules;
  size_t numNumbers = 0;
};

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_STEP_STEPCACHE_H
