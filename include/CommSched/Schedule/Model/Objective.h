//===- Objective.h - What makes a schedule better ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What solvers look for, and the one rule by which everything that compares
// schedules does so: what is within the limit comes first, then what is
// shorter, then what takes less memory. Of what is over the limit, the less
// memory the better, then the shorter.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_SCHEDULE_MODEL_OBJECTIVE_H
#define COMMSCHED_SCHEDULE_MODEL_OBJECTIVE_H

#include "CommSched/Schedule/Model/Simulator.h"

#include <limits>
#include <tuple>

namespace mlir::commsched::schedule {

/// The least gain that is worth a change, of a time of `ns`: a thousandth.
inline int64_t getLeastGainNs(int64_t ns) { return ns / 1000; }

/// Whether a schedule of `ns` is worth changing to gain `gainNs`.
inline bool isWorthwhile(int64_t gainNs, int64_t ns) {
  return gainNs > getLeastGainNs(ns);
}

/// Whether a change that could gain `mostNs` at best is worth a search: it
/// seldom gains all, so twice the least gain has to be in reach.
inline bool isWorthTrying(int64_t mostNs, int64_t ns) {
  return mostNs > 2 * getLeastGainNs(ns);
}

/// What a schedule is compared by. The less the better.
struct Rank {
  int64_t ns;
  int64_t bytes;
  /// Whether the bytes are over the limit.
  bool isOver;

  Rank(int64_t ns, int64_t bytes, int64_t limitBytes)
      : ns(ns), bytes(bytes), isOver(bytes > limitBytes) {}

  auto getKey() const {
    return std::make_tuple(isOver, isOver ? bytes : ns, isOver ? ns : bytes);
  }
  bool operator<(const Rank &other) const { return getKey() < other.getKey(); }
};

/// How much better a schedule has to be.
enum class Gain : uint8_t {
  Any,
  /// Of two that are within the limit, by more than getLeastGainNs().
  Worthwhile,
};

/// Whether a schedule of rank `a` is better than one of rank `b`.
inline bool isBetter(const Rank &a, const Rank &b, Gain gain = Gain::Any) {
  if (gain == Gain::Worthwhile && !a.isOver && !b.isOver)
    return isWorthwhile(b.ns - a.ns, b.ns);
  return a < b;
}

/// What a solver looks for: the shortest step within a limit.
struct Objective {
  /// Live bytes, as simulateMemory() counts them, that are never exceeded.
  int64_t limitBytes = std::numeric_limits<int64_t>::max();
  /// How operations that run at once slow each other down.
  Contention contention;
  /// By how many percent longer than their costs collectives are taken to be,
  /// so that the order is less sensitive to costs that are too low.
  int32_t slackPercent = 0;

  Rank rank(int64_t ns, int64_t peakBytes) const {
    return {ns, peakBytes, limitBytes};
  }
};

} // namespace mlir::commsched::schedule

#endif // COMMSCHED_SCHEDULE_MODEL_OBJECTIVE_H
