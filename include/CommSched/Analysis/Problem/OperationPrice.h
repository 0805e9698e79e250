//===- OperationPrice.h - What operations take ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The time of operations, and how much of it is measured, pinned or assumed.
//===----------------------------------------------------------------------===//

#ifndef COMMSCHED_ANALYSIS_PROBLEM_OPERATIONPRICE_H
#define COMMSCHED_ANALYSIS_PROBLEM_OPERATIONPRICE_H

#include "CommSched/Support/Unlimited.h"

namespace mlir::commsched {

/// `a + b` for numbers that are not negative, at most `unlimited`.
inline int64_t saturatingAdd(int64_t a, int64_t b) {
  return a > unlimited - b ? unlimited : a + b;
}

/// `a * b` for numbers that are not negative, at most `unlimited`.
inline int64_t saturatingMultiply(int64_t a, int64_t b) {
  return b != 0 && a > unlimited / b ? unlimited : a * b;
}

/// What operations take, and where their times come from.
struct OperationPrice {
  int64_t timeNs = 0;
  /// The computation and the collectives in it, those in regions as often as
  /// they run. Their sum is more than `timeNs` where they run at once.
  int64_t computeNs = 0;
  int64_t commNs = 0;
  /// How much of it comes from measured times.
  int64_t measuredNs = 0;
  /// How many operations take time; of one with regions, those that take time
  /// there count in its place, each once.
  int64_t numOps = 0;
  /// Those whose time was measured, and those whose time is pinned.
  int64_t numMeasured = 0;
  int64_t numPinned = 0;
  /// Those whose time is not known, so that a stand-in counts in its place.
  int64_t numAssumed = 0;

  /// Of one operation, by the source of its time.
  static OperationPrice modelled(int64_t timeNs) {
    return {timeNs, timeNs, 0, 0, timeNs > 0, 0, 0, 0};
  }
  static OperationPrice measured(int64_t timeNs) {
    return {timeNs, timeNs, 0, timeNs, timeNs > 0, timeNs > 0, 0, 0};
  }
  static OperationPrice pinned(int64_t timeNs) {
    return {timeNs, timeNs, 0, 0, timeNs > 0, 0, timeNs > 0, 0};
  }
  static OperationPrice assumed(int64_t timeNs) {
    return {timeNs, timeNs, 0, 0, 1, 0, 0, 1};
  }

  bool isKnown() const { return numAssumed == 0; }

  /// Adds what further operations take. Times saturate.
  void add(const OperationPrice &other);
};

} // namespace mlir::commsched

#endif // COMMSCHED_ANALYSIS_PROBLEM_OPERATIONPRICE_H
