//===- Contention.h - What runs at once slows itself down -------*- C++ -*-===//
//
// Part of the CommSched project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How operations that run at once slow each other down. The plain time model
// knows nothing of it: streams run beside each other and beside computation at
// full speed.
//
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_CONTENTION_H
#define COMMSCHED_SCHEDULE_CONTENTION_H

#include "CommSched/Schedule/Problem.h"

#include <utility>

namespace mlir::commsched::schedule {

/// With nothing set there is none.
struct Contention {
  /// The largest computeSlowdownPpm: a thousand times as long.
  static constexpr int64_t maxComputeSlowdownPpm = 999'000'000;

  /// Pairs of streams, of different indices, of which no two collectives are
  /// ever in flight together: of two that would be, the one that is issued
  /// later begins when the other has ended.
  std::vector<std::pair<StreamId, StreamId>> exclusive;
  /// By stream: the link that its collectives travel over, or -1 for one of its
  /// own. Of k collectives that are on one link at once, each progresses at a
  /// k-th of its speed. Empty: no link is shared.
  std::vector<int32_t> links;
  /// By how many millionths of its own time a computation takes longer while at
  /// least one collective is in flight: with 190,000, computation that takes
  /// 100 ns alone takes 119 ns beside communication.
  int64_t computeSlowdownPpm = 0;

  bool isNone() const {
    return exclusive.empty() && links.empty() && computeSlowdownPpm == 0;
  }
};

/// What is wrong with `contention` for a `problem` without error, naming the
/// streams: an index out of range, a stream that is exclusive with itself,
/// links for another number of streams, a slowdown out of range. O(what it
/// has).
OptionalError check(const Contention &contention, const Problem &problem);

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_CONTENTION_H
